#include "autotune/migration.h"

#include "autotune/record_fields.h"
#include "autotune/schema2_keys.h"
#include "frontend/yaml/document.h"
#include "scheduler/region_text.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

constexpr int64_t kMaxTableBytes = int64_t{16} << 20;
constexpr size_t kMaxRegions = 20000;
constexpr size_t kMaxLines = 4096;  // of a region's text
constexpr size_t kMaxRegionExtents = 1024;

// A list of its lines that YAML reads back; "" where one of them is longer than a reader takes.
std::string lines_text(std::string_view text) {
  constexpr size_t kMaxLine = 4096;
  std::string list;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    if (end > kMaxLine) return "";
    list += "      - \"";
    for (const char c : text.substr(0, end)) list += c == '"' || c == '\\' ? str('\\', c) : str(c);
    list += "\"\n";
    text.remove_prefix(end + 1);
  }
  return list;
}

KeyTable::Keys keys_of(const yaml::Item& item) {
  item.allow_keys({"old", "family", "extents", "text"});
  KeyTable::Keys keys;
  keys.family = hash_digits(item.at("family"));
  const yaml::Item extents = item.at("extents"), text = item.at("text");
  const auto sizes = extents.list(), lines = text.list();
  if (sizes.size() > kMaxRegionExtents)
    extents.fail(str("has more than ", kMaxRegionExtents, " entries"));
  if (lines.size() > kMaxLines) text.fail(str("has more than ", kMaxLines, " lines"));
  if (lines.empty()) text.fail("has no lines");
  for (const yaml::Item& size : sizes) keys.extents.push_back(integer_in(size, 0, kMaxFieldValue));
  for (const yaml::Item& line : lines) keys.text += line.text() + "\n";
  return keys;
}

}  // namespace

void KeyTable::add(const sched::Region& region) {
  const sched::Family family = sched::family_of(region);
  keys_[schema2_key(region)] = {sched::region_text(region).text, family.key, family.extents};
}

const KeyTable::Keys* KeyTable::find(const std::string& old_key) const {
  const auto found = keys_.find(old_key);
  return found == keys_.end() ? nullptr : &found->second;
}

std::string KeyTable::to_yaml() const {
  std::string text = str("# From the keys of tuning records of schema ", kMigratedSchema,
                         " to the canonical texts of their regions: for tcc-tune migrate.\n"
                         "tcc_keys: ",
                         kMigratedSchema, "\nkeys:\n");
  for (const auto& [old, keys] : keys_) {
    const std::string lines = lines_text(keys.text);
    if (lines.empty()) continue;
    std::string extents;
    for (const int64_t extent : keys.extents) extents += str(extents.empty() ? "" : ", ", extent);
    text += str("  - old: \"", old, "\"\n    family: \"", keys.family, "\"\n    extents: [",
                extents, "]\n    text:\n", lines);
  }
  return text;
}

void KeyTable::read(std::string_view text, const std::string& file) {
  const yaml::Item document = yaml::parse_document(text, file);
  document.allow_keys({"tcc_keys", "keys"});
  const yaml::Item schema = document.at("tcc_keys");
  if (schema.integer() != kMigratedSchema)
    schema.fail(str("only keys of schema ", kMigratedSchema, " are carried over"));
  const yaml::Item list = document.at("keys");
  const auto entries = list.list();
  if (entries.size() > kMaxRegions) list.fail(str("has more than ", kMaxRegions, " entries"));
  for (const yaml::Item& item : entries) keys_[hash_digits(item.at("old"))] = keys_of(item);
}

KeyTable shipped_key_table() {
  KeyTable table;
  const std::filesystem::path file = config_folder() / "migrations" / "schema2.yaml";
  std::error_code error;
  if (std::filesystem::exists(file, error))
    table.read(read_file(file, kMaxTableBytes), file.string());
  return table;
}

std::optional<Record> carried_over(Record record, const KeyTable& table) {
  if (record.key.kernel_template.starts_with("user:")) return record;
  const KeyTable::Keys* keys = table.find(record.key.region);
  if (!keys) return std::nullopt;
  record.key.region = hash_of(keys->text).hex();
  record.family = keys->family;
  record.extents = keys->extents;
  return record;
}

}  // namespace tcc::autotune
