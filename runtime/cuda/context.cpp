#include "runtime/cuda/context.h"

#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

constexpr size_t kMostPinned = 8;  // pieces that are kept

// Once a context has failed so, it fails for the rest of the process.
bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

}  // namespace

Context::Context(int ordinal) : api_(driver()), name_(str("cuda:", ordinal)) {
  const auto require = [&](CUresult result, const char* call) {
    if (result != CUDA_SUCCESS)
      throw Error(ErrorKind::no_device, str(name_, ": ", call, ": ", api_.describe(result)));
  };
  int count = 0;
  require(api_.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    throw Error(ErrorKind::no_device, str("no device '", name_, "'; CUDA devices: ", count));
  require(api_.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  require(api_.cuDevicePrimaryCtxRetain(&handle_, device_), "cuDevicePrimaryCtxRetain");
  pinned_.reserve(kMostPinned);
}

Context::~Context() {
  if (!pinned_.empty()) {
    const ContextScope scope(*this, std::nothrow);
    for (std::byte* memory : pinned_) api_.cuMemFreeHost(memory);
  }
  api_.cuDevicePrimaryCtxRelease_v2(device_);
}

std::byte* Context::take_pinned() const {
  {
    const std::lock_guard lock(mutex_);
    if (!pinned_.empty()) {
      std::byte* memory = pinned_.back();
      pinned_.pop_back();
      return memory;
    }
  }
  const CaptureTolerantScope tolerant(*this);
  void* memory = nullptr;
  TCC_CUDA(*this, cuMemHostAlloc, &memory, kPinnedBytes, 0);
  return static_cast<std::byte*>(memory);
}

void Context::give_pinned(std::byte* memory) const noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (pinned_.size() < pinned_.capacity()) return pinned_.push_back(memory);
  }
  const CaptureTolerantScope tolerant(*this);
  api_.cuMemFreeHost(memory);
}

void Context::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) fail_device(lost_);
  std::string message = str(name_, ": ", call, ": ", api_.describe(result));
  if (is_sticky(result)) lost_ = message;
  fail_device(message);
}

ContextScope::ContextScope(const Context& context) : context_(context) {
  context_.check(enter(), "cuCtxPushCurrent");
}

ContextScope::ContextScope(const Context& context, std::nothrow_t) noexcept : context_(context) {
  enter();
}

CUresult ContextScope::enter() noexcept {
  CUcontext current = nullptr;
  const CUresult result = context_.api().cuCtxGetCurrent(&current);
  if (result != CUDA_SUCCESS || current == context_.handle()) return result;
  const CUresult push = context_.api().cuCtxPushCurrent_v2(context_.handle());
  pushed_ = push == CUDA_SUCCESS;
  return push;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) context_.api().cuCtxPopCurrent_v2(&popped);
}

CaptureTolerantScope::CaptureTolerantScope(const Context& context) noexcept : api_(context.api()) {
  api_.cuThreadExchangeStreamCaptureMode(&mode_);
}

CaptureTolerantScope::~CaptureTolerantScope() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }

}  // namespace tcc::runtime::cuda
