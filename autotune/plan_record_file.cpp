// The text of a plan file: written one fact per line, read without trust.
#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <tuple>

#include "autotune/plan_records.h"
#include "autotune/record_fields.h"
#include "autotune/record_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kMaxPlans = 20000;
constexpr size_t kMaxAlternatives = 64;

int64_t alternative_of(const std::string& text, const yaml::Item& item) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > kMaxFieldValue)
    item.fail(str("'", text.substr(0, 32), "' is no alternative: an integer of at least 0"));
  return value;
}

PlanRecord read_plan(const yaml::Item& item, const std::string& device) {
  item.allow_keys(
      {"site", "key", "name", "choice", "default", "seconds", "device", "driver", "tcc", "date"});
  PlanRecord record;
  const yaml::Item kind = item.at("site");
  record.key = {device, kind.text(), hash_digits(item.at("key"))};
  if (!is_word(record.key.kind)) kind.fail("must be 1 to 64 letters, digits or _");
  record.description = short_text(item, "name");
  record.choice = integer_in(item.at("choice"), 0, kMaxFieldValue);
  record.default_choice = integer_in(item.at("default"), 0, kMaxFieldValue);
  if (item.has("seconds")) {
    const yaml::Item times = item.at("seconds");
    const auto entries = times.map();
    if (entries.size() > kMaxAlternatives)
      times.fail(str("has more than ", kMaxAlternatives, " entries"));
    for (const auto& [text, value] : entries)
      record.seconds[alternative_of(text, value)] = seconds_of(value);
  }
  record.measured_on = short_text(item, "device");
  record.driver = short_text(item, "driver");
  record.tcc = short_text(item, "tcc");
  record.date = date_text(item);
  return record;
}

std::string plan_text(const PlanRecord& record) {
  std::string seconds;
  for (const auto& [choice, time] : record.seconds)
    seconds += str(seconds.empty() ? "" : ", ", choice, ": ", number_field(time));
  return str("  - site: ", record.key.kind, "\n    name: ", quoted_field(record.description),
             "\n    key: \"", record.key.site, "\"\n    choice: ", record.choice,
             "\n    default: ", record.default_choice, "\n    seconds: {", seconds,
             "}\n    device: ", quoted_field(record.measured_on),
             "\n    driver: ", quoted_field(record.driver), "\n    tcc: ", quoted_field(record.tcc),
             "\n    date: ", quoted_field(record.date), "\n");
}

}  // namespace

void read_plan_text(std::string_view text, const std::string& file, PlanStore& store,
                    const std::function<void(const std::string&)>& warn) {
  try {
    const yaml::Item document = yaml::parse_document(text, file);
    if (!document.is_map() || !document.has("tcc_plan")) document.fail("is no plan file");
    const yaml::Item schema = document.at("tcc_plan");
    if (schema.integer() == 1)
      schema.fail("schema 1 is an earlier tcc's; search again: tcc-tune --plan-search");
    if (schema.integer() != kPlanSchema)
      schema.fail(str("only schema ", kPlanSchema, " can be read"));
    document.allow_keys({"tcc_plan", "target", "plans"});
    const std::string device = name_text(document.at("target"));
    const yaml::Item list = document.at("plans");
    const std::vector<yaml::Item> plans = list.list();
    if (plans.size() > kMaxPlans) list.fail(str("has more than ", kMaxPlans, " plans"));
    std::set<PlanKey> seen;
    for (const yaml::Item& item : plans) {
      try {
        PlanRecord record = read_plan(item, device);
        if (!seen.insert(record.key).second)
          warn(str(ir::to_string(item.location()),
                   ": a second plan of this site; the preferred one is used"));
        store.add(std::move(record));
      } catch (const Error& error) { warn(str(error.what(), "; plan skipped")); }
    }
  } catch (const Error& error) { warn(str(error.what(), "; file skipped")); }
}

std::string plan_file_text(const std::vector<const PlanRecord*>& records) {
  TCC_CHECK(!records.empty(), "a plan file has records");
  std::ostringstream out;
  out << "# The fastest alternatives of choices that span kernels, found by tcc-tune "
         "--plan-search;\n"
         "# seconds are of the kernels in which the alternatives differ. docs/tuning.md explains\n"
         "# the rest.\n"
      << "tcc_plan: " << kPlanSchema << "\ntarget: " << quoted_field(records.front()->key.device)
      << "\nplans:\n";
  std::vector<const PlanRecord*> sorted = records;
  std::sort(sorted.begin(), sorted.end(), [](const PlanRecord* a, const PlanRecord* b) {
    return std::tie(a->key.kind, a->description, a->key) <
           std::tie(b->key.kind, b->description, b->key);
  });
  for (const PlanRecord* record : sorted) out << plan_text(*record);
  return out.str();
}

}  // namespace tcc::autotune
