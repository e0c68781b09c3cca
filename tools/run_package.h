// tcc-run on a package: nothing is compiled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/run_states.h"
#include "tools/tensors.h"

namespace tcc::tools {

struct RunPackageOptions {
  std::string package, device, outputs;
  std::optional<std::string> public_key;  // the key itself, or its file
  std::vector<std::string> at;            // sizes of open dims: "S=8"
  InputOptions inputs;
  StateFiles states;
  uint64_t seed = 0;
  int runs = 1, bench = 0;
  bool json = false;
};

// Runs it on given or drawn inputs, at the sizes of `at` and of the given inputs, and reports;
// returns the exit code.
int run_package(const RunPackageOptions& options);

}  // namespace tcc::tools
