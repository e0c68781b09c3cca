#include "runtime/cuda/stream.h"

#include "runtime/cuda/graph.h"
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/recording.h"
#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

const CudaRecording& recording_of(const Recording& recording, const Context& context) {
  const auto* ours = dynamic_cast<const CudaRecording*>(&recording);
  TCC_CHECK(ours && ours->context().device() == context.device(), "a recording of another device");
  return *ours;
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<const Context> context)
    : context_(std::move(context)),
      owned_(std::make_unique<OwnedStream>(context_)),
      handle_(owned_->get()),
      staging_(context_),
      repeats_(context_) {}

CudaStream::CudaStream(std::shared_ptr<const Context> context, CUstream handle)
    : context_(std::move(context)), handle_(handle), staging_(context_), repeats_(context_) {
  const ContextScope scope(*context_);
  CUcontext theirs = nullptr;
  TCC_CUDA(*context_, cuStreamGetCtx, handle_, &theirs);
  if (theirs != context_->handle())
    fail_input(context_->name(),
               ": the stream belongs to another context than the device's primary one");
}

// No other code has the handle of a stream of our own.
bool CudaStream::is_capturing() const {
  if (owned_) return false;
  const ContextScope scope(*context_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TCC_CUDA(*context_, cuStreamIsCapturing, handle_, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void CudaStream::give(const std::function<void(void* handle)>& use) {
  const ContextScope scope(*context_);
  use(handle_);
}

void CudaStream::run(const Recording& recording) {
  const CudaRecording& ours = recording_of(recording, *context_);
  const ContextScope scope(*context_);
  // A graph could become a child graph of the capture; plain launches merge with the caller's.
  if (is_capturing()) return ours.enqueue_each(handle_);
  ours.replay(handle_);
}

void CudaStream::run(std::span<const BoundStep> steps) {
  const ContextScope scope(*context_);
  if (!is_capturing()) return repeats_.run(steps, handle_);
  for (const BoundStep& step : steps) enqueue(step, *context_, handle_);
}

void CudaStream::copy_to_device(Buffer& to, int64_t offset, std::span<const std::byte> from) {
  check_range(offset, static_cast<int64_t>(from.size()), to.bytes());
  const ContextScope scope(*context_);
  staging_.copy_to_device(to.address() + static_cast<uint64_t>(offset), from, handle_);
}

void CudaStream::copy_to_host(std::span<std::byte> to, const Buffer& from, int64_t offset) {
  check_range(offset, static_cast<int64_t>(to.size()), from.bytes());
  const ContextScope scope(*context_);
  staging_.copy_to_host(to, from.address() + static_cast<uint64_t>(offset), handle_);
}

void CudaStream::fill(Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) {
  check_range(offset, bytes, buffer.bytes());
  if (bytes == 0) return;
  const ContextScope scope(*context_);
  TCC_CUDA(*context_, cuMemsetD8Async, buffer.address() + static_cast<uint64_t>(offset), value,
           static_cast<size_t>(bytes), handle_);
}

void CudaStream::synchronize() {
  const ContextScope scope(*context_);
  TCC_CUDA(*context_, cuStreamSynchronize, handle_);
}

std::vector<double> CudaStream::time_each(std::span<const BoundStep> steps) {
  std::vector<double> seconds;
  if (steps.empty()) return seconds;
  std::vector<Event> events;
  events.reserve(steps.size() + 1);
  while (events.size() <= steps.size()) events.emplace_back(context_);

  const ContextScope scope(*context_);
  // In a graph the device goes from launch to event to launch by itself: the times of short kernels
  // are not those of the host's calls.
  const Graph graph(context_, [&](CUstream stream) {
    const auto record = [&](const Event& event) {
      TCC_CUDA(*context_, cuEventRecordWithFlags, event.get(), stream, CU_EVENT_RECORD_EXTERNAL);
    };
    record(events[0]);
    for (size_t i = 0; i < steps.size(); ++i) {
      enqueue(steps[i], *context_, stream);
      record(events[i + 1]);
    }
  });
  graph.launch(handle_);
  TCC_CUDA(*context_, cuStreamSynchronize, handle_);
  for (size_t i = 0; i < steps.size(); ++i)
    seconds.push_back(events[i].seconds_until(events[i + 1]));
  return seconds;
}

double CudaStream::time(const Recording& recording, int repeat) {
  TCC_CHECK(repeat > 0, repeat, " repetitions");
  const CudaRecording& ours = recording_of(recording, *context_);
  const ContextScope scope(*context_);
  const Event start(context_), end(context_);
  start.record(handle_);
  for (int i = 0; i < repeat; ++i) ours.replay(handle_);
  end.record(handle_);
  end.wait();
  return start.seconds_until(end) / repeat;
}

}  // namespace tcc::runtime::cuda
