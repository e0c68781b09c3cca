#include "runtime/cuda/memory.h"

#include <algorithm>
#include <ios>

#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

[[noreturn]] void fail_out_of_memory(const Context& context, int64_t bytes) {
  size_t free = 0, total = 0;
  TCC_CUDA(context, cuMemGetInfo_v2, &free, &total);
  fail_device(context.name(), ": out of memory: asked for ", bytes, " bytes, ", free, " of ", total,
              " free");
}

}  // namespace

CudaBuffer::CudaBuffer(std::shared_ptr<const Context> context, int64_t bytes)
    : context_(std::move(context)), bytes_(bytes), owned_(true) {
  TCC_CHECK(bytes >= 0, bytes, " bytes");
  const ContextScope scope(*context_);
  const CaptureTolerantScope tolerant(*context_);
  // The driver refuses 0 bytes; kernels get an address all the same. Lines of odd lengths are read
  // in whole words of 16 bytes.
  constexpr int64_t kWord = 16;
  const CUresult result = context_->api().cuMemAlloc_v2(
      &address_, static_cast<size_t>((std::max<int64_t>(bytes, 1) + kWord - 1) / kWord * kWord));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) fail_out_of_memory(*context_, bytes);
  context_->check(result, "cuMemAlloc");
  context_->count_allocated(bytes_);
}

CudaBuffer::CudaBuffer(std::shared_ptr<const Context> context, DeviceAddress address, int64_t bytes)
    : context_(std::move(context)), address_(address), bytes_(bytes) {
  TCC_CHECK(bytes >= 0, bytes, " bytes");
  if (bytes == 0) return;
  const ContextScope scope(*context_);
  int ordinal = -1;
  const CUresult result = address == 0
                              ? CUDA_ERROR_NOT_FOUND
                              : context_->api().cuPointerGetAttribute(
                                    &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (result != CUDA_SUCCESS)
    fail_input(context_->name(), ": 0x", std::hex, address, " is no address of CUDA memory");
  if (ordinal != context_->device())
    fail_input(context_->name(), ": 0x", std::hex, address, " is memory of CUDA device ", std::dec,
               ordinal);
}

CudaBuffer::~CudaBuffer() {
  if (!owned_) return;
  context_->count_allocated(-bytes_);
  const ContextScope scope(*context_, std::nothrow);
  const CaptureTolerantScope tolerant(*context_);
  context_->api().cuMemFree_v2(address_);
}

}  // namespace tcc::runtime::cuda
