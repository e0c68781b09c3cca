// Tuning records: which config is best for which kernel on which device, as YAML files that people
// read, merge and commit; and the look-up that compilation uses. docs/tuning.md shows a file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/family.h"
#include "scheduler/tuning.h"

namespace tcc::autotune {

// A record is for this template, region and device. A mismatch in any of these makes it unusable.
struct RecordKey {
  std::string kernel_template;
  int version = 0;
  std::string region;  // 32 digits: sched::signature (ops, dtypes, layouts, shapes)
  std::string device;  // Target::id(): "cuda:sm_90a"
  friend auto operator<=>(const RecordKey&, const RecordKey&) = default;
};

// A record was measured with this driver, compiler and device. A difference makes it stale, not
// unusable; an unknown value ("") is no difference.
struct Environment {
  std::string device;  // as the driver names it: "NVIDIA H200"
  std::string driver;
  std::string compiler;
  std::string space;   // hash of the config space
  std::string vendor;  // "nvidia"
  // The properties of the device that configs depend on, by name: "compute_units", "shared_bytes",
  // ... They serve to find the nearest of several devices.
  std::map<std::string, int64_t> capabilities;
  friend bool operator==(const Environment&, const Environment&) = default;
};

// A config that nearly won.
struct RunnerUp {
  sched::Config config;
  double seconds = 0, low = 0, high = 0;  // median and its 95 % interval; 0: not known
  friend auto operator<=>(const RunnerUp&, const RunnerUp&) = default;
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
  double seconds = 0;                // median, > 0
  double low = 0, high = 0;          // its 95 % interval, by bootstrap
  double default_seconds = 0;        // of the analytic default, in the same sweep
  int64_t samples = 0;               // behind the median
  double error = 0;                  // RMSE against the expected result over its limit: at most 1
  std::vector<RunnerUp> runners_up;  // fastest first, at most 4
  std::string policy;                // of the measurement: "median of 50, cold L2, staged search"
  std::string tcc;                   // version
  std::string date;                  // "2026-11-21", UTC
  friend bool operator==(const Record&, const Record&) = default;
};

RecordKey key_of(const sched::Candidate& candidate);
Environment environment_of(const sched::ConfigSpace& space, const sched::Target& target);
// Returns this tcc's version, as records keep it.
std::string tcc_version();
// Returns the types of the region's inputs and outputs as text; strides follow where they are not
// row-major.
std::string operands_text(const sched::Region& region);

// Returns whether merging takes `a` rather than `b`, both of one key: a strict total order, so that
// merging is idempotent, commutative and associative. The newer environment wins (device, driver,
// compiler and tcc version, compared as versions are), then the faster config, then the smaller
// config hash, then the text. Records stay as one sweep measured them, runners-up included.
bool preferred(const Record& a, const Record& b);

// A kernel whose config is looked up: a region's, or a user's own.
struct Query {
  RecordKey key;
  std::string family;  // as in Record; "": it has no relatives
  std::vector<int64_t> extents;
  Environment environment;  // today's
  std::string tcc;
  const sched::ConfigSpace* space = nullptr;  // today's: what is not legal in it is refused
  // Returns the reason why a config should not serve this kernel, or "". The reason is that the
  // template's model expects it to take more than `allowed` times as long as the default, which is
  // made for this kernel's sizes. Null: any config may serve.
  std::function<std::string(const sched::Config&, double allowed)> doubt = {};
};
// Makes the query of a candidate, which must outlive it.
Query query_of(const sched::Candidate& candidate);

struct Found {
  const Record* record = nullptr;  // null: none serves, the tier is analytic
  sched::Tier tier = sched::Tier::analytic;
  sched::Config config = {};  // the record's, as one of the query's space
};

// Returns text that says how a record's environment differs from today's ("driver '570.1', not
// '580.0'"), or "".
std::string environment_change(const Record& record, const Environment& now,
                               const std::string& tcc);

// An explanation says where a config came from, and why nothing closer served.
struct Explanation {
  sched::ConfigChoice choice;
  std::optional<Record> record;      // none: the analytic default
  std::vector<std::string> refused;  // a line for each closer tier: "nearest: no record of ..."
};

class RecordStore : public sched::ConfigSource {
 public:
  // The tiers, in this order; a record's config serves only where it is legal today.
  //
  //   exact     of this kernel, architecture and environment
  //   stale     of this kernel and architecture; another device, driver, compiler, tcc or space
  //   nearest   of this architecture, and of a kernel that differs in sizes only: the least
  //             distance in octaves, sizes that divide less well counting more
  //             (scheduler/family.h)
  //   device    of this kernel on the most similar device of another architecture of the API
  //   analytic  the template's own default
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override;
  // Returns the same choice, with its reasons. It is slower, since it looks through records of the
  // template's other versions too.
  Explanation explain(const sched::Candidate& candidate) const;

  // choose() and explain() look a candidate up with this; it serves users' kernels as well. It
  // returns a pointer into this store; `refused` gets the reasons.
  Found find(const Query& query, std::vector<std::string>* refused = nullptr) const;

  // Keeps the preferred() one of two records of one key.
  void add(Record record);
  // Calls add() for every record of `other`.
  void merge(const RecordStore& other);
  // Adds every record of `newer`; it replaces ours with its key.
  void override_with(const RecordStore& newer);
  // Adds a sweep's records, which have beaten those of ours that look-up would return. One replaces
  // ours when the environment or the config changed.
  void update(const RecordStore& newer);

  void erase(const RecordKey& key);

  const std::map<RecordKey, Record>& records() const { return records_; }

 private:
  friend class LookUp;
  void put(Record record);

  struct FamilyKey {
    std::string kernel_template;
    int version = 0;
    std::string device, family;
    friend auto operator<=>(const FamilyKey&, const FamilyKey&) = default;
  };
  static FamilyKey family_key(const Record& record);

  std::map<RecordKey, Record> records_;
  std::map<FamilyKey, std::set<RecordKey>> families_;
};

// Returns the folders and files whose records are used by default, in rising precedence:
// configs/tuned as shipped, then the entries of $TCC_TUNING_PATH (separated by colons). Entries
// that do not exist are left out, with a warning each where `warn` is set.
std::vector<std::filesystem::path> default_tuning_folders(
    const std::function<void(const std::string&)>& warn = {});

// The default folders, then `paths`. Throws Error(bad_input) for one of `paths` that does not
// exist.
std::vector<std::filesystem::path> tuning_paths(
    const std::vector<std::filesystem::path>& paths,
    const std::function<void(const std::string&)>& warn);

// Reads the default folders, then `paths`: files, and all .yaml files in folders. Records of a
// later path take the place of an earlier one's. Files and records that are damaged or from the
// future are skipped with a warning that names file and line. Throws Error(bad_input) only for a
// path of `paths` that does not exist.
RecordStore load_records(const std::vector<std::filesystem::path>& paths,
                         const std::function<void(const std::string&)>& warn);

// Makes the folder; throws Error(bad_input) when records could not be saved in it. To be called
// before a long search.
void prepare_record_folder(const std::filesystem::path& folder);

// "cuda" of "cuda:0".
inline std::string_view api_of(std::string_view device) {
  return device.substr(0, device.find(':'));
}

// Says how records are combined with those that a folder has already.
enum class Saving : uint8_t {
  update,  // a sweep's results: RecordStore::update
  merge,   // more records of the same worth: RecordStore::merge
};
// Writes one file per architecture and template below `folder`, updated with `store`, sorted and
// atomically. A file with the same content is left alone. A damaged file is copied to FILE.damaged
// first. Returns the files. Throws Error(bad_input) when the folder cannot be written.
std::vector<std::filesystem::path> save_records(const RecordStore& store,
                                                const std::filesystem::path& folder,
                                                Saving saving = Saving::update);

}  // namespace tcc::autotune
