// The primary context of one CUDA device, which it shares with the CUDA runtime and all other users
// of that device in this process; and the checking of driver calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "runtime/cuda/driver_api.h"

namespace tcc::runtime::cuda {

// Buffers, kernels, streams and recordings hold their context alive. Thread-safe.
class Context {
 public:
  // Throws Error(no_device) when there is no device `ordinal` or it cannot be used.
  explicit Context(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::string& name() const { return name_; }  // "cuda:0"
  const DriverApi& api() const { return api_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }

  // Throws Error(device) "cuda:0: CALL: RESULT" unless the call succeeded. After an error that
  // makes every later call of the process fail (an illegal address, say), all throw the message of
  // the first.
  void check(CUresult result, const char* call) const;

  // Counts the bytes of its buffers.
  int64_t allocated_bytes() const { return allocated_; }
  void count_allocated(int64_t bytes) const { allocated_ += bytes; }

  // Page-locked host memory of kPinnedBytes. Locking pages takes milliseconds, so that a few pieces
  // that are no longer used are kept for the next stream. The context must be current.
  static constexpr size_t kPinnedBytes = size_t{16} << 20;
  std::byte* take_pinned() const;
  void give_pinned(std::byte* memory) const noexcept;

 private:
  const DriverApi& api_;
  const std::string name_;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
  mutable std::atomic<int64_t> allocated_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::byte*> pinned_;  // free pieces
  mutable std::string lost_;                // the first message of an error that does not go away
};

// Calls a driver function of a context and checks it: TCC_CUDA(*context, cuStreamSynchronize,
// stream).
#define TCC_CUDA(context, function, ...) \
  (context).check((context).api().function(__VA_ARGS__), #function)

// Makes a context current on the calling thread; afterwards the previous one is current again.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  // This one is for destructors: calls in the scope fail when the context cannot be made current.
  ContextScope(const Context& context, std::nothrow_t) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  CUresult enter() noexcept;

  const Context& context_;
  bool pushed_ = false;
};

// Lets the calling thread allocate and free memory while any stream of this process is being
// captured; otherwise that is forbidden and would invalidate the capture. No captured work depends
// on such memory.
class CaptureTolerantScope {
 public:
  explicit CaptureTolerantScope(const Context& context) noexcept;
  ~CaptureTolerantScope();
  CaptureTolerantScope(const CaptureTolerantScope&) = delete;
  CaptureTolerantScope& operator=(const CaptureTolerantScope&) = delete;

 private:
  const DriverApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then the one to return to
};

}  // namespace tcc::runtime::cuda
