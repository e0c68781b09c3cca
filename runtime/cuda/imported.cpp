#include "runtime/cuda/imported.h"

#include "support/error.h"

namespace tcc::runtime::cuda {

ImportedBuffer::ImportedBuffer(std::shared_ptr<const Context> context, Device::Exported& memory,
                               int64_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  TCC_CHECK(bytes > 0 && bytes <= memory.allocation_bytes, bytes, " bytes of an allocation of ",
            memory.allocation_bytes);
  if (!context_->api().cuImportExternalMemory || !context_->api().cuExternalMemoryGetMappedBuffer ||
      !context_->api().cuDestroyExternalMemory)
    fail_input(context_->name(), ": the driver cannot use memory of another API");
  const ContextScope scope(*context_);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle{};
  handle.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  handle.handle.fd = memory.file;
  handle.size = static_cast<unsigned long long>(memory.allocation_bytes);
  handle.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
  TCC_CUDA(*context_, cuImportExternalMemory, &memory_, &handle);
  memory.file = -1;  // the driver's now
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = static_cast<unsigned long long>(bytes);
  const CUresult result =
      context_->api().cuExternalMemoryGetMappedBuffer(&address_, memory_, &buffer);
  if (result != CUDA_SUCCESS) context_->api().cuDestroyExternalMemory(memory_);
  context_->check(result, "cuExternalMemoryGetMappedBuffer");
}

ImportedBuffer::~ImportedBuffer() {
  const ContextScope scope(*context_, std::nothrow);
  const CaptureTolerantScope tolerant(*context_);
  context_->api().cuMemFree_v2(address_);  // waits for the device
  context_->api().cuDestroyExternalMemory(memory_);
}

}  // namespace tcc::runtime::cuda
