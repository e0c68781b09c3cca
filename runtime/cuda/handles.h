// Driver objects that are destroyed with their owner.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "runtime/cuda/context.h"

namespace tcc::runtime::cuda {

// A point in a stream, with the time at which the device passed it.
class Event {
 public:
  explicit Event(std::shared_ptr<const Context> context, unsigned flags = CU_EVENT_DEFAULT)
      : context_(std::move(context)) {
    const ContextScope scope(*context_);
    TCC_CUDA(*context_, cuEventCreate, &handle_, flags);
  }
  ~Event() {
    if (!handle_) return;
    const ContextScope scope(*context_, std::nothrow);
    context_->api().cuEventDestroy_v2(handle_);
  }
  Event(Event&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  CUevent get() const { return handle_; }

  void record(CUstream stream) const { TCC_CUDA(*context_, cuEventRecord, handle_, stream); }
  void wait() const { TCC_CUDA(*context_, cuEventSynchronize, handle_); }
  // Seconds between two events that the device has passed; resolution 0.5 us.
  double seconds_until(const Event& later) const {
    float milliseconds = 0;
    TCC_CUDA(*context_, cuEventElapsedTime, &milliseconds, handle_, later.handle_);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  std::shared_ptr<const Context> context_;
  CUevent handle_ = nullptr;
};

// A stream that does not wait for the default stream.
class OwnedStream {
 public:
  explicit OwnedStream(std::shared_ptr<const Context> context) : context_(std::move(context)) {
    const ContextScope scope(*context_);
    TCC_CUDA(*context_, cuStreamCreate, &handle_, CU_STREAM_NON_BLOCKING);
  }
  // Work that was enqueued still runs.
  ~OwnedStream() {
    const ContextScope scope(*context_, std::nothrow);
    context_->api().cuStreamDestroy_v2(handle_);
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  CUstream get() const { return handle_; }

 private:
  std::shared_ptr<const Context> context_;
  CUstream handle_ = nullptr;
};

}  // namespace tcc::runtime::cuda
