// The device's memory, in a few large allocations. A buffer has a place in one of these blocks:
// drivers allow as few as 4,096 allocations, and each costs a call of the kernel. A block is one
// VkBuffer, so that a place is an offset and an address. Large buffers have a block of their own.
// Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device.h"
#include "runtime/vulkan/memory_types.h"
#include "runtime/vulkan/places.h"

namespace tcc::runtime::vulkan {

class Core;

class Heap {
 public:
  explicit Heap(Core& core) : core_(core) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  struct Block {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    int64_t bytes = 0;            // of the buffer
    int64_t reserved = 0;         // of the allocation
    DeviceAddress address = 0;    // of the buffer's first byte
    std::byte* mapped = nullptr;  // null where the host cannot see it
    MemoryUse use = MemoryUse::device;
    bool shared = false;
    Places places;
  };
  struct Place {
    Block* block = nullptr;
    int64_t offset = 0;
  };

  // Throws Error(device) when it exceeds the device's limits or memory is out.
  Place take(MemoryUse use, int64_t bytes);
  void give_back(Place place);

  // Commands that want a buffer need this, of memory that kernels know by its address.
  struct Range {
    VkBuffer buffer;
    VkDeviceSize offset;
  };
  // TCC_CHECKs that one place holds `bytes` bytes from `address` on.
  Range range_of(DeviceAddress address, int64_t bytes) const;

  // Lets range_of() find `bytes` bytes of a buffer of the caller's, from `offset` on.
  void add_foreign(const Block& block, int64_t offset, int64_t bytes);
  void remove_foreign(const Block& block, int64_t offset, int64_t bytes);

  // A block of its own that other APIs can import; what it counts is not part of taken_bytes().
  void make_exported(Block& block);
  void free_exported(Block& block);

  int64_t taken_bytes() const;
  uint32_t allocations() const;

  // Frees all blocks: nothing may use them any more.
  void destroy();

 private:
  using Blocks = std::vector<std::unique_ptr<Block>>;

  Place take_shared(MemoryUse use, int64_t bytes);
  Place take_own(MemoryUse use, int64_t bytes);
  int64_t next_bytes(const Blocks& blocks) const;
  Block& add_block(MemoryUse use, int64_t bytes, bool shared);
  void create_buffer(Block& block, bool is_exported = false);
  void allocate(Block& block, bool is_exported = false);
  void reserve(int64_t bytes);
  void free(Block& block);
  void free_empty();

  Core& core_;
  mutable std::mutex mutex_;                // of those below
  std::array<Blocks, kMemoryUses> blocks_;  // by use
  std::map<DeviceAddress, Block*> by_address_;
  struct Foreign {
    VkBuffer buffer;
    int64_t offset, bytes;
  };
  std::multimap<DeviceAddress, Foreign> foreign_;  // by the address of the first of these bytes
  int64_t reserved_bytes_ = 0;
  uint32_t allocations_ = 0;
};

}  // namespace tcc::runtime::vulkan
