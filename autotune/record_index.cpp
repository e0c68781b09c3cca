#include "autotune/record_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>

#include "autotune/binary_text.h"
#include "autotune/record_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

// "TCCINDEX" as a machine of the other byte order would not write it.
constexpr uint64_t kMagic = 0x5845444e49434354;
constexpr int kFormat = 1;

// Magic, version, checksum, bytes in all; path, content; stamp, time.
constexpr size_t kHeaderWords = kIndexHeaderBytes / sizeof(uint64_t);
constexpr size_t kChecked = 3 * sizeof(uint64_t);  // where the checksummed part begins
using Header = std::array<uint64_t, kHeaderWords>;

constexpr uint64_t kMostTexts = 1024;  // warnings, environments, a record's entries
constexpr uint64_t kMostNames = uint64_t{1} << 20;
constexpr size_t kMostWarnings = 100;

// The reader of tuning files may change with the version.
uint64_t version_word() {
  static const uint64_t word = Hasher()
                                   .add("record index")
                                   .add(kFormat)
                                   .add(TCC_VERSION)
                                   .add(kRecordSchema)
                                   .add(kPlanSchema)
                                   .digest()
                                   .low;
  return word;
}

// Against damage by chance: a few bytes a cycle, in four lanes. Who writes an index on purpose can
// write its checksum, too.
uint64_t checksum(std::string_view bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::array<uint64_t, 4> lanes = {1, 2, 3, bytes.size()};
  const auto mix = [](uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * kFactor;
    return lane ^ (lane >> 29);
  };
  size_t at = 0;
  for (; bytes.size() - at >= 32; at += 32) {
    std::array<uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data() + at, 32);
    for (size_t k = 0; k < 4; ++k) lanes[k] = mix(lanes[k], words[k]);
  }
  for (; at < bytes.size(); ++at) lanes[0] = mix(lanes[0], static_cast<unsigned char>(bytes[at]));
  uint64_t sum = 0;
  for (const uint64_t lane : lanes) sum = mix(sum, lane);
  return sum;
}

std::string header_of(const IndexSource& source, std::string_view body) {
  const FileStamp& stamp = source.stamp;
  Header header = {kMagic,
                   version_word(),
                   0,
                   0,
                   source.path.low,
                   source.path.high,
                   source.content.low,
                   source.content.high,
                   static_cast<uint64_t>(stamp.bytes),
                   static_cast<uint64_t>(stamp.modified),
                   static_cast<uint64_t>(stamp.changed),
                   stamp.inode,
                   stamp.device,
                   static_cast<uint64_t>(source.checked)};
  std::string bytes(reinterpret_cast<const char*>(header.data()), sizeof header);
  bytes += body;
  return sealed_index(std::move(bytes));
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// 32 digits as 16 bytes; zeros for "".
std::string packed(std::string_view digits) {
  std::string bytes(16, '\0');
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < std::min<size_t>(digits.size(), 32); i += 2)
    bytes[i / 2] = static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  return bytes;
}

std::string digits_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Texts that occur often, by number.
class Names {
 public:
  uint64_t number(const std::string& name) {
    return numbers_.try_emplace(name, numbers_.size()).first->second;
  }
  void write(ByteWriter& out) const {
    std::vector<const std::string*> names(numbers_.size());
    for (const auto& [name, number] : numbers_) names[number] = &name;
    out.count(names.size());
    for (const std::string* name : names) out.text(*name);
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

// The parts of an index, while it is made.
struct Parts {
  Names names;
  std::map<std::string, uint64_t> environments;  // written -> number
  ByteWriter table, blobs;

  void add_row(const std::string& region, const std::string& family, int version) {
    table.raw(packed(region));
    table.raw(packed(family));
    for (const size_t number : {static_cast<size_t>(version), blobs.size()}) {
      const auto word = static_cast<uint32_t>(number);
      table.raw({reinterpret_cast<const char*>(&word), sizeof word});
    }
  }

  uint64_t environment(const Record& record) {
    const Environment& environment = record.environment;
    ByteWriter out;
    for (const std::string* text : {&environment.device, &environment.driver, &environment.compiler,
                                    &environment.vendor, &record.tcc})
      out.text(*text);
    out.count(environment.capabilities.size());
    for (const auto& [name, value] : environment.capabilities) {
      out.text(name);
      out.integer(value);
    }
    return environments.try_emplace(out.take(), environments.size()).first->second;
  }

  void add(const Record& record) {
    add_row(record.key.region, record.family, record.key.version);
    blobs.count(environment(record));
    blobs.text(record.environment.space);
    blobs.number(record.seconds);
    blobs.number(record.default_seconds);
    blobs.count(record.best.values().size());
    for (const auto& [name, value] : record.best.values()) {
      blobs.count(names.number(name));
      blobs.integer(value);
    }
    blobs.count(record.extents.size());
    for (const int64_t extent : record.extents) blobs.integer(extent);
  }

  void add(const PlanRecord& record) {
    add_row(record.key.site, "", 0);
    blobs.count(names.number(record.key.kind));
    blobs.integer(record.choice);
    blobs.integer(record.default_choice);
    blobs.text(record.date);
    blobs.count(record.seconds.size());
    for (const auto& [choice, seconds] : record.seconds) {
      blobs.integer(choice);
      blobs.number(seconds);
    }
  }
};

}  // namespace

std::string sealed_index(std::string bytes) {
  const uint64_t size = bytes.size();
  std::memcpy(bytes.data() + kChecked, &size, sizeof size);
  const uint64_t sum = checksum(std::string_view(bytes).substr(kChecked));
  std::memcpy(bytes.data() + kChecked - sizeof sum, &sum, sizeof sum);
  return bytes;
}

std::optional<FileStamp> FileStamp::of(const fs::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileStamp{status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
                   status.st_ino, status.st_dev};
}

bool FileStamp::is_settled(int64_t checked) const {
  constexpr int64_t kStep = 2000000000;
  const int64_t last = std::max(modified, changed);
  return last <= checked - kStep;
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

RecordIndex RecordIndex::parse(std::string_view text, const fs::path& file,
                               const IndexSource& source) {
  std::vector<std::string> warnings;
  size_t unsaid = 0;
  const auto warn = [&](const std::string& warning) {
    warnings.size() < kMostWarnings ? warnings.push_back(warning) : void(++unsaid);
  };
  RecordStore records;
  PlanStore plans;
  is_plan_file(file) ? read_plan_text(text, file.string(), plans, warn)
                     : read_record_text(text, file.string(), records, warn);
  if (unsaid > 0) warnings.push_back(str(file.string(), ": and ", unsaid, " more"));
  Parts parts;
  std::vector<const Record*> sorted;
  for (const auto& [key, record] : records.records()) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(), [](const Record* a, const Record* b) {
    return std::tie(a->key.region, a->key) < std::tie(b->key.region, b->key);
  });
  for (const Record* record : sorted) parts.add(*record);
  std::vector<const PlanRecord*> sites;
  for (const auto& [key, plan] : plans.records()) sites.push_back(&plan);
  std::sort(sites.begin(), sites.end(), [](const PlanRecord* a, const PlanRecord* b) {
    return std::tie(a->key.site, a->key) < std::tie(b->key.site, b->key);
  });
  for (const PlanRecord* plan : sites) parts.add(*plan);

  ByteWriter body;
  body.text(!sorted.empty()  ? sorted.front()->key.device
            : !sites.empty() ? sites.front()->key.device
                             : "");
  body.text(sorted.empty() ? "" : sorted.front()->key.kernel_template);
  body.count(warnings.size());
  for (const std::string& warning : warnings) body.text(warning);
  std::vector<std::string_view> environments(parts.environments.size());
  for (const auto& [written, number] : parts.environments) environments[number] = written;
  body.count(environments.size());
  for (const std::string_view written : environments) body.raw(written);
  parts.names.write(body);
  body.text(parts.table.take());
  body.text(parts.blobs.take());
  std::optional<RecordIndex> index = decode(header_of(source, body.take()));
  TCC_CHECK(index, file.string(), ": its index cannot be read");
  return *std::move(index);
}

std::optional<RecordIndex> RecordIndex::decode(std::string bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(header.data(), bytes.data(), sizeof header);
  if (header[0] != kMagic || header[1] != version_word() || header[3] != bytes.size() ||
      header[2] != checksum(std::string_view(bytes).substr(kChecked)))
    return std::nullopt;
  RecordIndex index;
  index.bytes_ = std::move(bytes);
  index.source_ = {{header[4], header[5]},
                   {header[6], header[7]},
                   {static_cast<int64_t>(header[8]), static_cast<int64_t>(header[9]),
                    static_cast<int64_t>(header[10]), header[11], header[12]},
                   static_cast<int64_t>(header[13])};
  try {
    index.read_body();
  } catch (const Error&) { return std::nullopt; }
  return index;
}

void RecordIndex::set_source(const IndexSource& source) {
  source_ = source;
  bytes_ = header_of(source, std::string_view(bytes_).substr(sizeof(Header)));
}

void RecordIndex::read_body() {
  ByteReader body(std::string_view(bytes_).substr(sizeof(Header)));
  device_ = body.text();
  template_ = body.text();
  for (uint64_t left = body.entries(kMostTexts); left > 0; --left)
    warnings_.emplace_back(body.text());
  for (uint64_t left = body.entries(kMostTexts); left > 0; --left) {
    Environment& environment = environments_.emplace_back();
    for (std::string* text : {&environment.device, &environment.driver, &environment.compiler,
                              &environment.vendor, &versions_.emplace_back()})
      *text = body.text();
    for (uint64_t names = body.entries(kMostTexts); names > 0; --names) {
      const std::string name(body.text());
      environment.capabilities[name] = body.integer();
    }
  }
  for (uint64_t left = body.entries(kMostNames); left > 0; --left) names_.emplace_back(body.text());
  for (Part* part : {&table_, &blobs_}) {
    const std::string_view bytes = body.text();
    *part = {static_cast<size_t>(bytes.data() - bytes_.data()), bytes.size()};
  }
  if (table_.size % kRowBytes != 0) fail_input("half a row");
}

struct RecordIndex::Row {
  std::string_view region, family;
  uint32_t version = 0, offset = 0;
};

RecordIndex::Row RecordIndex::row(size_t i) const {
  ByteReader bytes(part(table_).substr(i * kRowBytes, kRowBytes));
  Row row{bytes.raw(16), bytes.raw(16)};
  for (uint32_t* word : {&row.version, &row.offset})
    std::memcpy(word, bytes.raw(sizeof *word).data(), sizeof *word);
  return row;
}

size_t RecordIndex::lower_bound(std::string_view region) const {
  size_t low = 0, high = size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    row(middle).region < region ? low = middle + 1 : high = middle;
  }
  return low;
}

Record RecordIndex::record(const Row& row) const {
  Record record;
  record.key = {template_, static_cast<int>(row.version), digits_of(row.region), device_};
  if (row.family != std::string(16, '\0')) record.family = digits_of(row.family);
  if (row.offset > blobs_.size) fail_input("an offset behind the end");
  ByteReader blob(part(blobs_).substr(row.offset));
  const uint64_t environment = blob.count();
  if (environment >= environments_.size()) fail_input("no such environment");
  record.environment = environments_[environment];
  record.tcc = versions_[environment];
  record.environment.space = blob.text();
  record.seconds = blob.number();
  record.default_seconds = blob.number();
  for (uint64_t left = blob.entries(kMostTexts); left > 0; --left) {
    const uint64_t name = blob.count();
    if (name >= names_.size()) fail_input("no such name");
    record.best.set(names_[name], blob.integer());
  }
  for (uint64_t left = blob.entries(kMostTexts); left > 0; --left)
    record.extents.push_back(blob.integer());
  return record;
}

PlanRecord RecordIndex::plan(const Row& row) const {
  if (row.offset > blobs_.size) fail_input("an offset behind the end");
  ByteReader blob(part(blobs_).substr(row.offset));
  const uint64_t kind = blob.count();
  if (kind >= names_.size()) fail_input("no such name");
  PlanRecord plan;
  plan.key = {device_, names_[kind], digits_of(row.region)};
  plan.choice = blob.integer();
  plan.default_choice = blob.integer();
  plan.date = blob.text();
  for (uint64_t left = blob.entries(kMostTexts); left > 0; --left) {
    const int64_t choice = blob.integer();
    plan.seconds[choice] = blob.number();
  }
  return plan;
}

void RecordIndex::add_region(int version, std::string_view region, RecordStore& to) const {
  const std::string wanted = packed(region);
  for (size_t i = lower_bound(wanted); i < size() && row(i).region == wanted; ++i)
    if (row(i).version == static_cast<uint32_t>(version)) to.add(record(row(i)));
}

void RecordIndex::add_family(int version, std::string_view family, RecordStore& to) const {
  if (family.empty()) return;
  const std::string wanted = packed(family);
  for (size_t i = 0; i < size(); ++i) {
    const Row found = row(i);
    if (found.family == wanted && found.version == static_cast<uint32_t>(version))
      to.add(record(found));
  }
}

void RecordIndex::add_plans(std::string_view site, PlanStore& to) const {
  const std::string wanted = packed(site);
  for (size_t i = lower_bound(wanted); i < size() && row(i).region == wanted; ++i)
    to.add(plan(row(i)));
}

}  // namespace tcc::autotune
