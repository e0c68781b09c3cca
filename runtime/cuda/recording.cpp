#include "runtime/cuda/recording.h"

namespace tcc::runtime::cuda {

CudaRecording::CudaRecording(std::shared_ptr<const Context> context,
                             std::span<const BoundStep> steps)
    : context_(std::move(context)) {
  steps_.reserve(steps.size());
  for (const BoundStep& step : steps) steps_.emplace_back(step, *context_);
  if (steps_.empty()) return;
  graph_ = std::make_unique<Graph>(context_, [this](CUstream stream) { enqueue_each(stream); });
}

void CudaRecording::replay(CUstream stream) const {
  if (graph_) graph_->launch(stream);
}

void CudaRecording::enqueue_each(CUstream stream) const {
  for (const Step& step : steps_) step.enqueue(*context_, stream);
}

}  // namespace tcc::runtime::cuda
