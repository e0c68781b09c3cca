// Recorded steps: a CUDA graph, and the steps themselves for streams that are being captured.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/graph.h"
#include "runtime/cuda/kernel.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

class CudaRecording final : public Recording {
 public:
  CudaRecording(std::shared_ptr<const Context> context, std::span<const BoundStep> steps);

  const Context& context() const { return *context_; }
  // Both are asynchronous; the context must be current.
  void replay(CUstream stream) const;
  void enqueue_each(CUstream stream) const;

 private:
  std::shared_ptr<const Context> context_;
  std::vector<Step> steps_;
  std::unique_ptr<Graph> graph_;  // none without steps
};

}  // namespace tcc::runtime::cuda
