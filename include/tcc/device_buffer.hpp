// Memory of a device, on which Context::run_device() runs without copies through the host.
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)
namespace tcc {

// A piece of device memory, on CUDA and on Vulkan alike. Copies and slices are the same memory,
// which is freed with the last of them, once the runs that use it have ended; it may outlive graphs
// and contexts. Several threads may use it: what one writes while another uses it is theirs to
// order.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;  // of no bytes, of no device
  // Allocates memory without contents. `device` is as in compile(): a buffer serves the graphs that
  // are compiled for this device. Throws Error(no_device), Error(device) when memory is out, and
  // Error(bad_input) for a negative size.
  DeviceBuffer(std::string_view device, std::int64_t bytes);
  // Takes memory of the caller's at an address of the device: a CUDA device pointer, or, on "null",
  // a pointer. `release`, if given, is called once, from any thread, when the last handle is gone
  // and the runs on tcc's streams that use the memory have ended. It may use no context. Throws
  // Error(bad_input) for a negative size, a null pointer, memory of another device, and on Vulkan:
  // nothing is released then.
  static DeviceBuffer wrap(std::string_view device, std::uint64_t address, std::int64_t bytes,
                           std::function<void()> release = {});

  // Allocates memory that two devices of one GPU see, the first a Vulkan device, the second a CUDA
  // device, and gives it as a buffer of each. Runs on either wait, on the host, for those on the
  // other as they do within a device. Throws Error(bad_input) for devices that are not of one GPU
  // or whose drivers cannot share memory.
  static std::pair<DeviceBuffer, DeviceBuffer> shared(std::string_view vulkan,
                                                      std::string_view cuda, std::int64_t bytes);

  std::string device() const;  // "cuda:0"; "" of no device
  std::int64_t bytes() const { return bytes_; }
  std::int64_t offset() const { return offset_; }  // in the allocation that it is a part of
  // Returns its bytes from `offset` on. Throws Error(bad_input) for a range beyond the end. A
  // tensor whose place is no multiple of TensorSpec::alignment costs a copy on the device.
  DeviceBuffer slice(std::int64_t offset, std::int64_t bytes) const;

  // Copy all bytes from or to host memory, after the runs before them, and wait. Throw
  // Error(bad_input) unless `host` is as large as the buffer.
  void write(std::span<const std::byte> host) const;
  void read(std::span<std::byte> host) const;

  // Returns the address for kernels of your own: CUDA's device pointer, Vulkan's buffer device
  // address; 0 without bytes. Such kernels are the caller's to order.
  std::uint64_t address() const;

 private:
  friend class Context;
  friend class DeviceTensor;
  friend struct DeviceAccess;  // of files that know what a buffer is
  struct Impl;
  explicit DeviceBuffer(std::shared_ptr<Impl> impl, std::int64_t bytes)
      : impl_(std::move(impl)), bytes_(bytes) {}
  std::shared_ptr<Impl> impl_;
  std::int64_t offset_ = 0, bytes_ = 0;
};

}  // namespace tcc
#pragma GCC visibility pop
#endif
