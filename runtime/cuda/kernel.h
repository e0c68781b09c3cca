// A kernel loaded into a context, and how it is launched.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

// Throws Error(device) naming the kernel where it is beyond the target's limits, or its code is no
// code.
void check_kernel(const std::string& device, const exec::Target& target,
                  const exec::KernelBinary& binary);

// A launch needs this function. Recordings share it, since they may outlive the kernel's object.
class Function {
 public:
  // Throws Error(device) naming the kernel when the driver or the target's limits refuse it.
  Function(std::shared_ptr<const Context> context, const exec::Target& target,
           const exec::KernelBinary& binary);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  const Context& context() const { return *context_; }
  // TCC_CHECKs the number of arguments and maps; throws Error(device) for a grid beyond the limits.
  void check(const BoundLaunch& launch) const;
  int attribute(CUfunction_attribute attribute) const;

  // Asynchronous; a grid without workgroups launches nothing. The context must be current.
  void launch(const BoundLaunch& launch, CUstream stream) const;
  // Makes the node of a graph, which launches this function, this launch: its grid has workgroups.
  void change(CUgraphExec graph, CUgraphNode node, const BoundLaunch& launch) const;

 private:
  void load(const exec::Target& target, const exec::KernelBinary& binary);
  void find_entry(const exec::Target& target, const exec::KernelBinary& binary);
  void check_parameters() const;
  int64_t workgroups_at_once() const;
  template <class Use>
  CUresult with_parameters(const BoundLaunch& launch, const Use& use) const;
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... reason) const;

  std::shared_ptr<const Context> context_;
  const std::string label_;
  const std::array<int64_t, 3> max_grid_;
  const std::array<uint32_t, 3> block_;
  const int workgroup_, num_arguments_, num_maps_;
  const int64_t shared_bytes_;
  const bool overlaps_;  // may begin before the launch before it has ended
  const bool cooperative_;
  const int units_;           // SMs
  int64_t most_at_once_ = 0;  // workgroups, of a cooperative launch
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

class CudaKernel final : public LoadedKernel {
 public:
  explicit CudaKernel(std::shared_ptr<const Function> function);

  KernelReport report() const override { return report_; }
  const std::shared_ptr<const Function>& function() const { return function_; }

 private:
  std::shared_ptr<const Function> function_;
  KernelReport report_;
};

// The function that a step launches, null for other steps. TCC_CHECKs that its kernel was loaded by
// `context`'s device and has as many arguments, and what a step must hold else.
const std::shared_ptr<const Function>* function_of(const BoundStep& step, const Context& context);

// Asynchronous. The context must be current. `function` is that of the step.
void enqueue(const Function* function, const BoundStep& step, const Context& context,
             CUstream stream);
// Does the same for a step that is not checked.
void enqueue(const BoundStep& step, const Context& context, CUstream stream);

// A recorded step, which keeps its kernel's code alive.
class Step {
 public:
  // `function` is that of the step, see function_of().
  Step(const BoundStep& step, const std::shared_ptr<const Function>* function);

  // Asynchronous. The context must be current.
  void enqueue(const Context& context, CUstream stream) const {
    cuda::enqueue(function_.get(), step_, context, stream);
  }
  // Whether it puts nothing on a stream.
  bool is_empty() const;

  enum class Difference : uint8_t { none, arguments, kind };
  // How `other` differs: not at all, in what the node of a graph can be told, or in more.
  Difference difference(const BoundStep& other, const Function* function) const;
  // Where they differ in arguments: makes the node, which does this step, do `other`, as this does
  // then. Runs that are enqueued already do what they did.
  void become(const BoundStep& other, const Context& context, CUgraphExec graph, CUgraphNode node);

 private:
  std::shared_ptr<const Function> function_;  // null: no launch
  BoundStep step_;
};

}  // namespace tcc::runtime::cuda
