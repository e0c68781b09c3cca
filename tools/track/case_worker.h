// The cases of a run are measured in a worker. If one crashes, hangs or loses the device, only that
// case fails.
//
// The worker's hello: {"device", "description", "vendor", "driver", "target", "compiler"}.
//   {"case"}    {"record": LINES, "log": [LINE]}, or {"failed": {"kind", "message"}, "log": [LINE]}
//               where it is no fault of the device
// LINES are those of the store, LINE is for standard error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/track/run_record.h"
#include "tools/track/suite.h"
#include "tools/track/worker.h"

namespace tcc::tools {

struct CaseSetup {
  std::string device = "auto";  // as runtime::open_device takes it
  std::string target;           // in its place: kernels are generated, nothing runs
  std::vector<std::string> tuning;
  size_t blocks = 8;
  double seconds = 20;
  bool warm = false, check = false, instructions = false;  // as MeasureOptions has them
};

std::unique_ptr<Served> serve_cases(const std::string& setup);

class CaseWorker {
 public:
  // A case may take `limit` seconds. `say` gets the lines that the worker logs, and a line when it
  // was replaced. Throws Error where the device cannot be opened, or there is no such target.
  CaseWorker(const CaseSetup& setup, double limit, std::function<void(const std::string&)> say);

  // Returns the members of a header that describe device, target and compiler.
  void describe(TrackedRun& header) const;
  // Throws the case's error, WorkerEnded where the case ended the worker, and Cancelled. A worker
  // that was killed by SIGKILL is replaced once, since no case causes that.
  TrackedCase measure(const TrackCase& one);
  // Returns whether the device still works for a new worker.
  bool device_works();

 private:
  void start();
  TrackedCase ask(const TrackCase& one);

  std::string setup_;
  double limit_;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace tcc::tools
