// The tuning files of a compilation give configs and plans. Only the files that a look-up needs are
// read.
//
// A process reads a tuning file once and looks at its stamp (size, times, inode) afterwards;
// threads and programs share what was read. Other processes find it as an index on disk
// (autotune/record_index.h), in the folder of compiled kernels.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "autotune/plan_records.h"
#include "autotune/records.h"
#include "scheduler/plan.h"
#include "scheduler/tuning.h"

namespace tcc::autotune {

class RecordIndex;
class IllegalRecords;

// Answers as the RecordStore and the PlanStore of all its files would. Records that are of kernels
// that were asked for, with configs that are not legal, are counted.
class TuningFiles : public sched::ConfigSource, public sched::PlanSource {
 public:
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override;
  int64_t choose(const sched::PlanSite& site, const sched::Target& target) const override;

  // The records that a look-up may return for a kernel: its own, those of its family on its device,
  // its own of other devices. `all` false: its own on its device.
  RecordStore records(const RecordKey& key, std::string_view family, bool all = true) const;

  // Warns of each file with records of kernels that choose() was asked about, whose configs are not
  // legal for them.
  void warn_of_illegal(const std::function<void(const std::string&)>& warn) const;

  size_t size() const;  // records and plans in all its files

 private:
  friend TuningFiles open_tuning_files(const std::vector<std::filesystem::path>&, sched::Api,
                                       const std::filesystem::path&,
                                       const std::function<void(const std::string&)>&);
  void note_illegal(const RecordKey& key, const sched::ConfigSpace& space) const;

  struct File {
    std::filesystem::path path;
    std::shared_ptr<const RecordIndex> index;
  };
  // Each entry is of one path; precedence rises.
  std::vector<std::vector<File>> paths_;
  std::shared_ptr<IllegalRecords> illegal_;
};

// Opens the files that load_records() reads, in the same order of precedence, but only those of the
// API's devices. Each call repeats the warnings of load_records() and load_plans() about these
// files. Indexes are kept in `cache` ("": none); a folder that cannot be written or holds something
// else costs time only. Throws Error(bad_input) for a path of `paths` that does not exist.
TuningFiles open_tuning_files(const std::vector<std::filesystem::path>& paths, sched::Api api,
                              const std::filesystem::path& cache,
                              const std::function<void(const std::string&)>& warn);

// Forgets what this process has read, as if it had just started. Tests and benchmarks call it.
void forget_tuning_files();

}  // namespace tcc::autotune
