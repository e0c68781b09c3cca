// tcc-tune on a device that compiles kernels and runs none: configs are compiled by its driver and
// ranked by estimates.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "autotune/tunable.h"
#include "runtime/device.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct RankedConfig {
  sched::Config config = {};
  double estimate = 0;  // seconds, by the cost model of the kernel's template; 0: it has none
  // Where it has none: what the driver's compiler estimates of a subgroup, times the subgroups of
  // the launch; -1: it gives no estimate.
  double cycles = -1;
  bool is_default = false;
  std::string refused = {};  // why the compiler or the driver did not take it
  std::vector<runtime::KernelReport> kernels = {};  // what the driver says of each

  int64_t spilled() const;  // registers, of all kernels; what is not known counts 0
};

struct RankedKernel {
  enum class By : uint8_t { cost_model, compiler, nothing };

  std::string name, kernel_template, operands;
  std::vector<RankedConfig> configs;  // the best first
  size_t legal = 0;                   // configs that were looked at
  By by = By::cost_model;             // what estimates them
};

// The default config and `most` - 1 others, compiled and loaded on all cores: those with the
// shortest estimates or, where no cost model gives any, random ones. Those that spill registers
// come after those that do not, refused ones last.
RankedKernel rank_configs(const autotune::Tunable& kernel, runtime::Device& device, size_t most);

// A table of the best configs and the default.
void print_ranking(std::ostream& out, const RankedKernel& kernel);
void add_ranking(JsonWriter& json, const RankedKernel& kernel);

}  // namespace tcc::tools
