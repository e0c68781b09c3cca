// Runs every case of a suite, one after the other, and stores each result as soon as it is known.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/track/run_record.h"
#include "tools/track/store.h"
#include "tools/track/suite.h"

namespace tcc::tools {

struct RunSteps {
  std::function<std::vector<TrackedCase>(const TrackCase&)> measure;
  // Called after a case that failed on the device: false ends the measuring. It is empty where
  // there is no device.
  std::function<bool()> device_works = {};
  std::function<void(size_t done, size_t all, const std::string& next)> progress = {};
  std::function<bool()> cancelled = {};
};

struct RunResult {
  std::vector<TrackedCase> cases;
  std::string end;  // "complete", "interrupted", "device lost"
  size_t failed = 0, over_budget = 0;
  double seconds = 0;
};

// An error of a case becomes its record; when the device is lost, so do the rest, except commands.
// Throws Error(bad_input) where the store cannot be written.
RunResult run_cases(const TrackedRun& header, const std::vector<TrackCase>& cases,
                    const RunSteps& steps, RunWriter& writer);

// "time 130.0 us of 120.0 us", for each quantity that is above its budget.
std::vector<std::string> over_budget(const TrackedCase& one);

}  // namespace tcc::tools
