// Tuning records: which config is best for which kernel on which device, as YAML files that people read, merge and
// commit; and the look-up that compilation uses.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scheduler/tuning.h"

namespace tcc::autotune {

// What a record is for. A mismatch in any of these makes it unusable.
struct RecordKey {
  std::string kernel_template;
  int version = 0;
  std::string region;  // sched::signature: ops, dtypes, layouts, shapes
  std::string device;  // Target::id() without the driver: "cuda:sm_90a"
  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};

struct Record {
  RecordKey key;
  std::string name;        // of the region, for people
  std::string space_hash;  // of the config space when it was measured: another one makes the record stale
  std::string driver;      // soft environment
  sched::Config best;
  double seconds = 0;          // median
  double default_seconds = 0;  // of the analytic default, in the same sweep
  int64_t samples = 0;
  double error = 0;            // RMSE against the reference over its limit: at most 1
};

RecordKey key_of(const sched::Template& kernel_template, const sched::Region& region, const sched::Target& target);
std::string hash_text(uint64_t hash);

class RecordStore : public sched::ConfigSource {
 public:
  // Exact record, stale record (other driver or space), else the analytic default. A record whose config is not legal
  // today is passed over.
  sched::ConfigChoice choose(const sched::Template& kernel_template, const sched::Region& region,
                             const sched::Target& target) const override;
  // Keeps the better of two records of one key: the faster, or for equal times the smaller config hash.
  void add(Record record);
  const std::map<RecordKey, Record>& records() const { return records_; }

 private:
  std::map<RecordKey, Record> records_;
};

// Reads files, and all .yaml files in folders; also $TCC_TUNING_PATH (separated by colons). Records that are damaged or
// from the future are skipped with a warning that names file and line: never an error.
RecordStore load_records(const std::vector<std::filesystem::path>& paths, const std::function<void(const std::string&)>& warn);

// One file per device and template below `folder`, merged with what is there, sorted, written atomically. Returns the
// files.
std::vector<std::filesystem::path> save_records(const RecordStore& store, const std::filesystem::path& folder);

}  // namespace tcc::autotune
