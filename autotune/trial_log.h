// The trial log: append-only JSON lines, so that an interrupted sweep resumes, no config is timed
// twice, and searches can be replayed without a device. docs/tuning.md describes the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/bench.h"
#include "autotune/records.h"

namespace tcc::autotune {

// A kernel's line stands before its first trial and has all that a replay needs.
struct LoggedTask {
  RecordKey key;
  std::string name, operands;
  Environment environment;
  sched::ConfigSpace space;  // parameters only: which configs are legal follows from the trials
  sched::Config default_config;
  double bound_seconds = 0;
};

struct LoggedTrial {
  sched::Config config;
  Effort effort = Effort::full;
  double estimate = 0;         // predicted seconds, 0: none
  double compile_seconds = 0;  // on one core
  Measurement result;
};

// Appends to one file. A line is one write(2) of a whole line: a killed process leaves at most a
// damaged last line, which readers skip. Throws Error(bad_input) naming the file.
class TrialLog {
 public:
  virtual ~TrialLog() = default;
  virtual void begin(const LoggedTask& task) = 0;
  virtual void append(const RecordKey& key, const LoggedTrial& trial) = 0;
};
std::unique_ptr<TrialLog> open_trial_log(const std::filesystem::path& path);

struct TaskHistory {
  LoggedTask task;
  std::vector<LoggedTrial>
      trials;  // in the file's order; the last of equal (config, effort) counts
};
using TrialHistory = std::map<RecordKey, TaskHistory>;

// Reads a trial log, plain or gzip. Damaged lines are skipped with a warning that names file and
// line; a missing file has no trials.
TrialHistory read_trial_log(const std::filesystem::path& path,
                            const std::function<void(const std::string&)>& warn);

}  // namespace tcc::autotune
