// A user's kernel with numbers for its dims, on a target. It has a config space and compiles
// configs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/user_kernel/user_kernel.h"
#include "backends/backend.h"
#include "backends/pipeline.h"
#include "executable/executable.h"
#include "scheduler/config.h"
#include "scheduler/target.h"

namespace tcc::autotune {

// A dense, row-major buffer.
struct BoundArgument {
  const KernelArgument* declared = nullptr;
  std::vector<int64_t> shape;
  int64_t elements = 0;  // > 0
};

// Immutable: all functions are thread-safe. Copies share what they point to.
class BoundKernel {
 public:
  // `dims` replace the file's. Throws Error(bad_input) naming file and line for an unknown or bad
  // dim, an argument without elements or beyond Tensor::max_bytes, a missing source for the
  // target's API, and a default config that is not legal for these dims on this target.
  BoundKernel(UserKernel kernel, const Dims& dims, const sched::Target& target);

  const UserKernel& kernel() const { return state_->kernel; }
  const sched::Target& target() const { return state_->target; }
  const Dims& dims() const { return state_->dims; }
  const std::vector<BoundArgument>& inputs() const { return state_->inputs; }
  const std::vector<BoundArgument>& outputs() const { return state_->outputs; }
  double flops() const;  // of one launch; 0: unknown
  double bytes() const;  // the arguments' where the file does not say
  double terms() const;  // at least 1

  // Returns the space of the file's parameters and constraints, and the target's limits: threads,
  // shared memory, grid. The space lives as long as this object. A constraint that cannot be
  // evaluated throws Error(bad_input) when it is asked.
  sched::ConfigSpace space() const;

  // Returns the text that is compiled: dims, scalars and parameters as #defines before the source's
  // text, in GLSL after its #version line.
  std::string source_text(const sched::Config& config) const;
  // Arguments are the inputs, then the outputs. Uses `cache`, `validate` and `binaries` of the
  // options. Throws Error(device) when the compiler refuses the source, Error(bad_input) for a
  // config that is not of the space, or whose workgroup is not the one of the compiled GLSL.
  exec::StandaloneKernel compile(const sched::Config& config,
                                 const backends::CompileOptions& options) const;

  // "f32[32, 784], f32[512, 784] -> f32[32, 512]"
  std::string operands_text() const;
  // Hashes of everything that a config's meaning and result depend on, but for the parameters:
  // without sizes (family) and with them (region).
  std::string family() const;  // 32 digits
  std::string region() const;  // with the dims; 32 digits

 private:
  void check_workgroup(const exec::StandaloneKernel& binary) const;
  std::vector<uint8_t> with_resources(const std::vector<uint8_t>& code,
                                      const sched::Config& config) const;

  struct State {
    UserKernel kernel;
    sched::Target target;
    Dims dims;
    Dims scalars;  // the integers among them
    std::vector<BoundArgument> inputs, outputs;

    std::optional<int64_t> lookup(std::string_view name, const sched::Config* config) const;
    int64_t evaluate(const Expression& expression, const sched::Config* config = nullptr) const;
    std::vector<BoundArgument> bind(const std::vector<KernelArgument>& arguments) const;
    std::array<int64_t, 3> evaluate(const std::array<Expression, 3>& extents,
                                    const sched::Config& config) const;
    const KernelSource& source() const { return kernel.sources.at(target.api); }
    std::string defines(const sched::Config& config) const;
    backends::KernelResources resources(const sched::Config& config) const;
  };
  std::shared_ptr<const State> state_;
};

}  // namespace tcc::autotune
