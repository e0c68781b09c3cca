// Tuning records: which config is best for which kernel on which device, as YAML files that people
// read, merge and commit; and the look-up that compilation uses. docs/tuning.md shows a file.
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
  std::string region;  // 32 digits: the hash of sched::signature (ops, dtypes, layouts, shapes)
  std::string device;  // Target::id(): "cuda:sm_90a"
  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};

// What a record was measured with. A difference makes it stale, not unusable.
struct Environment {
  std::string device;  // as the driver names it: "NVIDIA H200"
  std::string driver;
  std::string compiler;
  std::string space;  // hash of the config space
  friend bool operator==(const Environment&, const Environment&) = default;
};

// How a record was measured; 0 and "" where it is not known.
struct RunnerUp {
  sched::Config config;
  double seconds = 0, low = 0, high = 0;  // median and its 95 % interval
};

struct Record {
  RecordKey key;
  std::string name;      // of the region, for people: "matmul_add_gelu"
  std::string operands;  // "f32[32, 784], f32[512, 784] -> f32[32, 512]"
  // The region without its sizes (32 digits), and the sizes: records of one family differ in them
  // only, and one may serve where another is missing.
  std::string family;
  std::vector<int64_t> extents;
  Environment environment;
  sched::Config best;
  double seconds = 0;          // median, > 0
  double low = 0, high = 0;    // its 95 % interval, by bootstrap
  double default_seconds = 0;  // of the analytic default, in the same sweep
  int64_t samples = 0;         // behind the median
  double error = 0;            // RMSE against the expected result over its limit: at most 1
  std::vector<RunnerUp> runners_up;  // fastest first, at most 4
  std::string policy;                // of the measurement: "median of 50, cold L2, staged search"
  std::string tcc;                   // version
  std::string date;                  // "2026-11-21", UTC
};

RecordKey key_of(const sched::Template& kernel_template, const sched::Region& region,
                 const sched::Target& target);
Environment environment_of(const sched::ConfigSpace& space, const sched::Target& target);
// The types of the region's inputs and outputs; strides follow where they are not row-major.
std::string operands_text(const sched::Region& region);

class RecordStore : public sched::ConfigSource {
 public:
  // The config of the region's record, if it is legal today: tier exact, stale (another driver or
  // space) or device (measured on another device of this architecture); else the analytic default.
  sched::ConfigChoice choose(const sched::Template& kernel_template, const sched::Region& region,
                             const sched::Target& target) const override;

  // Keeps the better of two records of one key: the faster, or for equal times the smaller config
  // hash. Records of different environments are compared like any others.
  void add(Record record);
  // Every record of `newer` takes the place of ours with its key.
  void override_with(const RecordStore& newer);
  // As override_with for keys whose environment changed, as add() for the others.
  void update(const RecordStore& newer);

  const std::map<RecordKey, Record>& records() const { return records_; }

 private:
  std::map<RecordKey, Record> records_;
};

// Where records are found without being asked for, in rising precedence: configs/tuned as shipped,
// then the entries of $TCC_TUNING_PATH (separated by colons). Folders that are not there are left
// out.
std::vector<std::filesystem::path> default_tuning_folders();

// Reads the default folders, then `paths`: files, and all .yaml files in folders. Records of a
// later path take the place of an earlier one's. Files and records that are damaged or from the
// future are skipped with a warning that names file and line. Throws Error(bad_input) only for a
// path of `paths` that does not exist.
RecordStore load_records(const std::vector<std::filesystem::path>& paths,
                         const std::function<void(const std::string&)>& warn);

// Makes the folder; throws Error(bad_input) when records could not be saved in it. To be called
// before a long search.
void prepare_record_folder(const std::filesystem::path& folder);

// One file per device and template below `folder`, updated with `store`, sorted, written
// atomically. Returns the files. Throws Error(bad_input) when the folder cannot be written.
std::vector<std::filesystem::path> save_records(const RecordStore& store,
                                                const std::filesystem::path& folder);

}  // namespace tcc::autotune
