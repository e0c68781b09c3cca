// Device memory: a place in one of the blocks of the device's heap.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/device.h"
#include "runtime/vulkan/core.h"
#include "runtime/vulkan/heap.h"

namespace tcc::runtime::vulkan {

class Memory {
 public:
  // `bytes` may be 0. Throws Error(device) when it exceeds the device's limits or memory is out.
  Memory(std::shared_ptr<Core> core, MemoryUse use, int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The place in the block's buffer, for commands.
  VkBuffer handle() const { return place_.block->buffer; }
  int64_t offset() const { return place_.offset; }
  DeviceAddress address() const {
    return place_.block->address + static_cast<DeviceAddress>(place_.offset);
  }
  int64_t bytes() const { return bytes_; }
  // Null where the host cannot see it.
  std::byte* mapped() const {
    return place_.block->mapped ? place_.block->mapped + place_.offset : nullptr;
  }

 private:
  const std::shared_ptr<Core> core_;
  const int64_t bytes_;
  Heap::Place place_;
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
