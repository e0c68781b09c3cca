// Device memory, tcc's own or the caller's.
#pragma once

#include <memory>

#include "runtime/cuda/context.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

class CudaBuffer final : public Buffer {
 public:
  // Throws Error(device) when memory is out.
  CudaBuffer(std::shared_ptr<const Context> context, int64_t bytes);
  // Wraps the caller's memory. Throws Error(bad_input) unless it is memory of `context`'s device,
  // or host memory that this device can address. An empty buffer may have any address.
  CudaBuffer(std::shared_ptr<const Context> context, DeviceAddress address, int64_t bytes);
  ~CudaBuffer() override;
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  DeviceAddress address() const override { return address_; }
  int64_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<const Context> context_;
  DeviceAddress address_ = 0;
  int64_t bytes_ = 0;
  bool owned_ = false;
};

}  // namespace tcc::runtime::cuda
