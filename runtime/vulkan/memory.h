// Device memory is one VkBuffer with memory of its own.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/device.h"
#include "runtime/vulkan/core.h"
#include "runtime/vulkan/memory_types.h"

namespace tcc::runtime::vulkan {

class Memory {
 public:
  // `bytes` may be 0. Throws Error(device) when it exceeds the device's limits or memory is out.
  Memory(std::shared_ptr<Core> core, MemoryUse use, int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  VkBuffer handle() const { return buffer_; }
  DeviceAddress address() const { return address_; }
  int64_t bytes() const { return bytes_; }
  std::byte* mapped() const { return mapped_; }  // null where the host cannot see it

 private:
  void create_buffer();
  void allocate(MemoryUse use);
  void destroy();

  const std::shared_ptr<Core> core_;
  const int64_t bytes_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  int64_t reserved_ = 0;
  DeviceAddress address_ = 0;
  std::byte* mapped_ = nullptr;
};

class VulkanBuffer final : public Buffer {
 public:
  VulkanBuffer(std::shared_ptr<Core> core, int64_t bytes)
      : memory_(std::move(core), MemoryUse::device, bytes) {}
  DeviceAddress address() const override { return memory_.address(); }
  int64_t bytes() const override { return memory_.bytes(); }
  const Memory& memory() const { return memory_; }

 private:
  Memory memory_;
};

}  // namespace tcc::runtime::vulkan
