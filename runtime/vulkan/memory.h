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
  // A part of a buffer of the caller's. Throws Error(bad_input) where it leaves the buffer.
  Memory(std::shared_ptr<Core> core, VkBuffer buffer, int64_t offset, int64_t bytes);
  // Memory of the device's that another API on the GPU can import: `allocation` gets the file
  // descriptor and the size. Throws Error(bad_input) where the driver cannot export memory.
  Memory(std::shared_ptr<Core> core, int64_t bytes, Device::Exported& allocation);
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
  std::unique_ptr<Heap::Block>
      foreign_;  // with memory: exported; without: the caller's; null: of the heap
  Heap::Place place_;
};

class VulkanBuffer final : public Buffer {
 public:
  VulkanBuffer(std::shared_ptr<Core> core, int64_t bytes)
      : memory_(std::move(core), MemoryUse::device, bytes) {}
  VulkanBuffer(std::shared_ptr<Core> core, VkBuffer buffer, int64_t offset, int64_t bytes)
      : memory_(std::move(core), buffer, offset, bytes) {}
  VulkanBuffer(std::shared_ptr<Core> core, int64_t bytes, Device::Exported& allocation)
      : memory_(std::move(core), bytes, allocation) {}
  DeviceAddress address() const override { return memory_.address(); }
  int64_t bytes() const override { return memory_.bytes(); }
  const Memory& memory() const { return memory_; }

 private:
  Memory memory_;
};

}  // namespace tcc::runtime::vulkan
