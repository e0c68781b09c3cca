// Recorded steps: a CUDA graph, and the steps themselves for streams that are being captured.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/cuda/graph.h"
#include "runtime/cuda/kernel.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

// Steps with their functions, which are checked once.
class CheckedSteps {
 public:
  CheckedSteps(std::span<const BoundStep> steps, const Context& context);
  size_t size() const { return steps_.size(); }
  const BoundStep& operator[](size_t i) const { return steps_[i]; }
  const std::shared_ptr<const Function>* function(size_t i) const { return functions_[i]; }
  const Function* code(size_t i) const { return functions_[i] ? functions_[i]->get() : nullptr; }

 private:
  std::span<const BoundStep> steps_;
  std::vector<const std::shared_ptr<const Function>*> functions_;
};

class CudaRecording final : public Recording {
 public:
  // Without a graph, which capture() makes.
  CudaRecording(std::shared_ptr<const Context> context, const CheckedSteps& steps);

  const Context& context() const { return *context_; }
  void capture();
  // These are asynchronous; the context must be current. replay() needs the graph.
  void replay(CUstream stream) const;
  void enqueue_each(CUstream stream) const;

  // How many of `steps` differ from its own, if they are at most `most` and a graph of the one can
  // be made to do the others; else none.
  std::optional<size_t> differences(const CheckedSteps& steps, size_t most) const;
  // Whether the driver has told which nodes the steps are: change() can be called.
  bool may_change() const { return nodes_.size() == steps_.size(); }
  // Makes the graph do these steps, which have differences(), from the next replay on: capture()
  // takes far longer. Where that throws, it must not be used again.
  void change(const CheckedSteps& steps);

 private:
  std::shared_ptr<const Context> context_;
  std::vector<Step> steps_;
  std::unique_ptr<Graph> graph_;
  std::vector<CUgraphNode> nodes_;  // of the steps; fewer where the driver does not tell
};

}  // namespace tcc::runtime::cuda
