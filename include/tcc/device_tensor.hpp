// Tensors in device memory: a type over a part of a DeviceBuffer, and their exchange by DLPack.
#pragma once

#include "tcc/device_buffer.hpp"

#if __cplusplus >= 202002L  // tcc/device_buffer.hpp says what is missing
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct DLManagedTensor;           // dlpack.h
struct DLManagedTensorVersioned;  // of version 1

#pragma GCC visibility push(default)
namespace tcc {

struct HostTensor;
struct TensorSpec;

// A dense, row-major tensor in device memory, on CUDA and on Vulkan alike. Copies are the same
// memory, which lives as DeviceBuffer says.
class DeviceTensor {
 public:
  DeviceTensor() = default;  // f32[0], of no device
  // Allocates memory without contents. Throws as DeviceBuffer does, and Error(bad_input) for a
  // dtype or a shape that cannot be.
  DeviceTensor(std::string_view device, std::string_view dtype, std::vector<std::int64_t> shape);
  // For an input, an output or a state of a compiled graph.
  DeviceTensor(std::string_view device, const TensorSpec& spec);
  // Lies in `memory` from `offset` on. Throws Error(bad_input) where it does not fit, and for an
  // offset that is no multiple of the element's size.
  DeviceTensor(const DeviceBuffer& memory, std::int64_t offset, std::string_view dtype,
               std::vector<std::int64_t> shape);
  // Copies a host tensor to a device.
  DeviceTensor(std::string_view device, const HostTensor& host);

  std::string device() const { return memory_.device(); }
  const std::string& dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t bytes() const { return memory_.bytes(); }
  // The bytes of the tensor, and their place in the allocation that they are a part of.
  const DeviceBuffer& memory() const { return memory_; }
  std::int64_t offset() const { return memory_.offset(); }

  // Copy all elements, after the runs before them, and wait. write() throws Error(bad_input) for
  // another dtype or shape.
  HostTensor to_host() const;
  void write(const HostTensor& host) const;

  // Takes a tensor of another framework (DLPack 1): memory of a CUDA device, or of the host as the
  // device "null", whose memory that is. `given` is this library's from then on, and goes with the
  // last copy; where Error(bad_input) is thrown it stays the caller's. Refused are strides other
  // than row-major ones, elements that tcc lacks, other devices and newer versions. Read-only
  // tensors cannot be outputs or states. What the framework has enqueued on it must have ended, or
  // precede on the stream of the run.
  static DeviceTensor from_dlpack(DLManagedTensorVersioned* given);
  static DeviceTensor from_dlpack(DLManagedTensor* given);  // of version 0
  // Gives the tensor to another framework, which calls its deleter; the memory lives until then. It
  // waits for runs that write the tensor; later ones are the caller's to order. Throws
  // Error(bad_input) for memory of Vulkan, for which DLPack defines no handle.
  DLManagedTensorVersioned* to_dlpack() const;
  DLManagedTensor* to_dlpack_0() const;

 private:
  DeviceBuffer memory_;
  std::string dtype_ = "f32";
  std::vector<std::int64_t> shape_ = {0};
};

}  // namespace tcc
#pragma GCC visibility pop
#endif
