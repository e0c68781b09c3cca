// Memory of another API on the same GPU.
#pragma once

#include <memory>

#include "runtime/cuda/context.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

class ImportedBuffer final : public Buffer {
 public:
  // Takes over the file descriptor of `memory`, unless it throws.
  ImportedBuffer(std::shared_ptr<const Context> context, Device::Exported& memory, int64_t bytes);
  ~ImportedBuffer() override;
  ImportedBuffer(const ImportedBuffer&) = delete;
  ImportedBuffer& operator=(const ImportedBuffer&) = delete;

  DeviceAddress address() const override { return address_; }
  int64_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<const Context> context_;
  CUexternalMemory memory_ = nullptr;
  CUdeviceptr address_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace tcc::runtime::cuda
