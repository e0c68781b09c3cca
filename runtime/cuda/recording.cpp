#include "runtime/cuda/recording.h"

namespace tcc::runtime::cuda {

CudaRecording::CudaRecording(std::shared_ptr<const Context> context,
                             std::span<const BoundLaunch> launches)
    : context_(std::move(context)) {
  steps_.reserve(launches.size());
  for (const BoundLaunch& launch : launches) steps_.emplace_back(launch, *context_);
  if (steps_.empty()) return;
  graph_ = std::make_unique<Graph>(context_, [this](CUstream stream) { launch_each(stream); });
}

void CudaRecording::replay(CUstream stream) const {
  if (graph_) graph_->launch(stream);
}

void CudaRecording::launch_each(CUstream stream) const {
  for (const Step& step : steps_) step.enqueue(*context_, stream);
}

}  // namespace tcc::runtime::cuda
