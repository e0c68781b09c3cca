// tcc-info --self-test: tests a device in a process of its own, which a kernel may crash or hang,
// and writes what is to be switched off into a quirk file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autotune/self_test.h"

namespace tcc::tools {

struct SelfTestRequest {
  std::string device = "auto";
  double limit_seconds = 30;
  std::string output;  // the folder of self-test.quirks; "": the user's
  std::string filter;  // samples whose names contain it
  bool json = false;
};

struct SelfTestReport {
  std::string name, target;  // "vulkan:0", "vulkan:llvmpipe:sg8"
  exec::Quirk of;            // device and driver
  std::string description, driver;
  double seconds = 0;
  bool is_complete = false;  // every sample was tested by the kernels that programs use
  bool is_whole = false;     // and nothing else was left out
  int passed = 0;
  std::vector<autotune::SelfTestEvent> found, slow, unneeded, untested;

  // The quirks that hold from now on.
  std::vector<exec::Quirk> quirks() const;
};

// The work of the process that tests: it tells the device, then what it finds.
struct SelfTestTeller {
  std::function<void(const runtime::Device&)> device;
  std::function<void(const autotune::SelfTestEvent&)> event;
};
using SelfTestBody =
    std::function<void(const autotune::SelfTestOptions& options, const SelfTestTeller& tell)>;

struct SelfTestLimits {
  double seconds = 30;
  double hang_seconds = 10;  // of one kernel, without the driver's compilation
};
// Runs `body` in a child process, and again in another one when it was killed by a kernel, which is
// switched off then. Ends within the limit. The caller has neither threads nor devices. Throws what
// `body` throws before it has told its device.
SelfTestReport isolated_self_test(const SelfTestBody& body, const SelfTestLimits& limits);

// Writes the report's quirks to the file: those of a whole test in the place of what an earlier one
// left there for the same device and driver, others beside it. Returns the text.
std::string write_self_test_quirks(const SelfTestReport& report, const std::string& file);

// Runs, prints and writes; returns the exit code: 1 where a result was wrong.
int run_self_test(const SelfTestRequest& request);

}  // namespace tcc::tools
