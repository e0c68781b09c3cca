#include "runtime/cuda/recording.h"

#include "support/error.h"

namespace tcc::runtime::cuda {

CheckedSteps::CheckedSteps(std::span<const BoundStep> steps, const Context& context)
    : steps_(steps) {
  functions_.reserve(steps.size());
  for (const BoundStep& step : steps) functions_.push_back(function_of(step, context));
}

CudaRecording::CudaRecording(std::shared_ptr<const Context> context, const CheckedSteps& steps)
    : context_(std::move(context)) {
  steps_.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) steps_.emplace_back(steps[i], steps.function(i));
}

void CudaRecording::capture() {
  nodes_.clear();
  graph_ = std::make_unique<Graph>(context_, [this](CUstream stream) {
    for (const Step& step : steps_) {
      step.enqueue(*context_, stream);
      const CUgraphNode node = step.is_empty() ? nullptr : last_captured(*context_, stream);
      if (node || step.is_empty()) nodes_.push_back(node);
    }
  });
}

void CudaRecording::replay(CUstream stream) const {
  if (!steps_.empty()) graph_->launch(stream);
}

void CudaRecording::enqueue_each(CUstream stream) const {
  for (const Step& step : steps_) step.enqueue(*context_, stream);
}

std::optional<size_t> CudaRecording::differences(const CheckedSteps& steps, size_t most) const {
  if (steps.size() != steps_.size()) return std::nullopt;
  size_t count = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step::Difference difference = steps_[i].difference(steps[i], steps.code(i));
    if (difference == Step::Difference::kind) return std::nullopt;
    if (difference == Step::Difference::arguments && ++count > most) return std::nullopt;
  }
  return count;
}

void CudaRecording::change(const CheckedSteps& steps) {
  TCC_CHECK(graph_ && may_change() && steps.size() == steps_.size(), "a recording of other steps");
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps_[i].difference(steps[i], steps.code(i)) != Step::Difference::none)
      steps_[i].become(steps[i], *context_, graph_->executable(), nodes_[i]);
}

}  // namespace tcc::runtime::cuda
