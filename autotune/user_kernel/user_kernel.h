// A kernel that a user wrote, as its file describes it: sources, arguments, parameters, launch
// geometry and check. docs/tuning-your-own-kernels.md is the format's reference.
//
//   UserKernel kernel = load_user_kernel("matmul.yaml");
//   BoundKernel bound(kernel, {{"M", 512}}, device->target());      // bound_kernel.h
//   Tunable tunable = tunable_of(kernel, device->target(), options);  // user_tunable.h
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "autotune/user_kernel/expression.h"
#include "ir/dtype.h"
#include "scheduler/config.h"
#include "scheduler/target.h"

namespace tcc::autotune {

constexpr int64_t kMaxDim = int64_t{1} << 40;  // of a dim or a parameter

using Dims = std::map<std::string, int64_t, std::less<>>;

// A dense, row-major buffer that the kernel reads or writes.
struct KernelArgument {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Expression> shape;  // over dims
  // For inputs: the range [low, high) that a tuner draws from.
  double low = -1, high = 1;
  int64_t int_low = 0, int_high = 100;
};

// A constant of the source: an integer over dims, or the text of a real number.
struct KernelScalar {
  std::string name;
  std::variant<Expression, std::string> value;
};

struct KernelSource {
  std::string file;  // as the kernel file names it
  std::string text;  // with what it includes
  std::string entry;
  // For a source that was written for another program; Backend::has_resources().
  std::optional<std::vector<std::pair<std::string, std::string>>> defines;  // instead of all names
  std::optional<Expression> subgroup;  // invocations; the kernel needs subgroups of that size
  std::string environment;             // as exec::KernelText has it
  std::vector<int> bindings;           // arguments: the inputs, then the outputs
  std::vector<Expression> push_constants;
  std::map<uint32_t, Expression> constants;  // of specialization, by their ids
  bool has_resources() const {
    return !bindings.empty() || !push_constants.empty() || !constants.empty();
  }
};

// Expressions over dims, scalars and parameters.
struct KernelLaunch {
  std::array<Expression, 3> grid;       // workgroups
  std::array<Expression, 3> workgroup;  // threads
  Expression shared{0};                 // bytes of shared memory; cuda: dynamic
};

// The expected outputs come from a graph, from another kernel, or from a config of this one.
struct KernelCheck {
  enum class Kind : uint8_t { graph, kernel, config };
  Kind kind = Kind::graph;
  std::filesystem::path file;           // graph, kernel
  std::optional<sched::Config> config;  // config; kernel: nothing is that kernel's default
  std::string place;                    // for messages
};

struct UserKernel {
  std::string name;
  std::string file;  // for messages
  Dims dims;         // default values
  std::vector<KernelArgument> inputs, outputs;
  std::vector<KernelScalar> scalars;
  std::vector<sched::Parameter> parameters;
  std::vector<Expression> constraints;
  sched::Config default_config;
  std::map<sched::Api, KernelSource> sources;
  KernelLaunch launch;
  Expression flops{0};  // of one launch; 0: unknown
  std::optional<Expression> bytes;
  Expression terms{1};  // that are combined into one output element, at most: see gate.h
  KernelCheck check;
};

// Reads a kernel file and the sources that it names, which must lie in its folder. Throws
// Error(bad_input) "FILE:LINE: ..." for every mistake in the file. The file of `check` is not read
// yet.
UserKernel load_user_kernel(const std::filesystem::path& path);

// Reads a kernel from memory; messages name `file`, and the sources are looked for in `folder`.
UserKernel parse_user_kernel(std::string_view text, const std::string& file,
                             const std::filesystem::path& folder);

}  // namespace tcc::autotune
