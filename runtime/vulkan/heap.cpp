#include "runtime/vulkan/heap.h"

#include <algorithm>
#include <iterator>

#include "runtime/device_checks.h"
#include "runtime/vulkan/core.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// Each shared block is twice the one before it, within these, and a small part of the device.
constexpr int64_t kFirstBlock = int64_t{4} << 20, kLargestBlock = int64_t{256} << 20;
constexpr int64_t kBlocksPerDevice = 16;

}  // namespace

Heap::Place Heap::take(MemoryUse use, int64_t bytes) {
  TCC_CHECK(bytes >= 0, bytes, " bytes");
  const int64_t limit = core_.physical().target.max_buffer_bytes;
  if (bytes > limit)
    fail_device(core_.name(), ": out of memory: one buffer of ", bytes_text(bytes),
                " asked for; the device allows ", bytes_text(limit));
  const std::lock_guard lock(mutex_);
  try {
    return take_shared(use, bytes);
  } catch (const Error&) {
    // Less may be left than a block takes: then the buffer has an allocation of its own size.
    free_empty();
    return take_own(use, bytes);
  }
}

Heap::Place Heap::take_shared(MemoryUse use, int64_t bytes) {
  Blocks& blocks = blocks_[static_cast<size_t>(use)];
  for (const auto& block : blocks) {
    if (!block->shared) continue;
    if (const auto offset = block->places.take(bytes)) return {block.get(), *offset};
  }
  const int64_t next = next_bytes(blocks);
  if (bytes > next / 2) return take_own(use, bytes);
  Block& block = add_block(use, next, true);
  return {&block, *block.places.take(bytes)};
}

Heap::Place Heap::take_own(MemoryUse use, int64_t bytes) {
  Block& block = add_block(use, Places::rounded(bytes), false);
  return {&block, *block.places.take(bytes)};
}

int64_t Heap::next_bytes(const Blocks& blocks) const {
  const Physical& physical = core_.physical();
  int64_t bytes = kFirstBlock;
  for (const auto& block : blocks)
    if (block->shared) bytes = std::min(2 * bytes, kLargestBlock);
  const int64_t most =
      std::min(physical.target.max_buffer_bytes, physical.memory_bytes / kBlocksPerDevice);
  return std::max(std::min(bytes, most) / Places::kGrain * Places::kGrain, Places::kGrain);
}

Heap::Block& Heap::add_block(MemoryUse use, int64_t bytes, bool shared) {
  auto block = std::make_unique<Block>(
      Block{.bytes = bytes, .use = use, .shared = shared, .places = Places(bytes)});
  try {
    create_buffer(*block);
    allocate(*block);
  } catch (...) {
    free(*block);
    throw;
  }
  by_address_[block->address] = block.get();
  return *blocks_[static_cast<size_t>(use)].emplace_back(std::move(block));
}

void Heap::make_exported(Block& block) {
  const std::lock_guard lock(mutex_);
  create_buffer(block, true);
  allocate(block, true);
}

void Heap::free_exported(Block& block) {
  const std::lock_guard lock(mutex_);
  free(block);
}

void Heap::create_buffer(Block& block, bool is_exported) {
  VkExternalMemoryBufferCreateInfo exported{};
  exported.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  if (is_exported) info.pNext = &exported;
  info.size = static_cast<VkDeviceSize>(block.bytes);
  info.usage = kUsage;
  core_.check(core_.vk().CreateBuffer(core_.device(), &info, nullptr, &block.buffer),
              "vkCreateBuffer");
}

void Heap::allocate(Block& block, bool is_exported) {
  const DeviceFunctions& vk = core_.vk();
  const Physical& physical = core_.physical();
  VkMemoryRequirements needed;
  vk.GetBufferMemoryRequirements(core_.device(), block.buffer, &needed);
  const auto type = choose_memory_type(physical.memory, block.use, physical.target.unified_memory,
                                       needed.memoryTypeBits);
  if (!type) fail_device(core_.name(), ": no memory type for a buffer");

  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  VkMemoryDedicatedAllocateInfo dedicated{};
  dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
  dedicated.buffer = block.buffer;
  VkExportMemoryAllocateInfo exported{};
  exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
  exported.pNext = &dedicated;
  exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  if (is_exported) flags.pNext = &exported;
  info.allocationSize = needed.size;
  info.memoryTypeIndex = *type;
  reserve(static_cast<int64_t>(needed.size));
  block.reserved = static_cast<int64_t>(needed.size);
  const VkResult result = vk.AllocateMemory(core_.device(), &info, nullptr, &block.memory);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    fail_device(core_.name(), ": out of memory: ", bytes_text(block.reserved),
                " asked for; the device has ", bytes_text(physical.memory_bytes));
  core_.check(result, "vkAllocateMemory");
  core_.check(vk.BindBufferMemory(core_.device(), block.buffer, block.memory, 0),
              "vkBindBufferMemory");

  // A discrete GPU's memory may be visible to the host, but reading it there is slow: copies are
  // staged.
  if (!is_exported && (block.use != MemoryUse::device || physical.target.unified_memory)) {
    void* mapped = nullptr;
    core_.check(vk.MapMemory(core_.device(), block.memory, 0, VK_WHOLE_SIZE, 0, &mapped),
                "vkMapMemory");
    block.mapped = static_cast<std::byte*>(mapped);
  }
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = block.buffer;
  block.address = vk.GetBufferDeviceAddress(core_.device(), &address);
}

void Heap::reserve(int64_t bytes) {
  const Physical& physical = core_.physical();
  if (allocations_ >= physical.max_allocations)
    fail_device(core_.name(), ": out of memory: the device allows ", physical.max_allocations,
                " allocations");
  // A CPU device would hand out more than there is, and the process be killed when it is touched.
  if (physical.target.is_cpu && bytes > physical.memory_bytes - reserved_bytes_)
    fail_device(core_.name(), ": out of memory: ", bytes_text(bytes), " asked for, ",
                bytes_text(reserved_bytes_), " of ", bytes_text(physical.memory_bytes), " in use");
  reserved_bytes_ += bytes;
  ++allocations_;
}

void Heap::free(Block& block) {
  if (const auto found = by_address_.find(block.address);
      found != by_address_.end() && found->second == &block)
    by_address_.erase(found);
  const DeviceFunctions& vk = core_.vk();
  vk.DestroyBuffer(core_.device(), block.buffer, nullptr);
  vk.FreeMemory(core_.device(), block.memory, nullptr);  // unmaps it
  if (block.reserved == 0) return;
  reserved_bytes_ -= block.reserved;
  --allocations_;
}

void Heap::give_back(Place place) {
  const std::lock_guard lock(mutex_);
  Block& block = *place.block;
  block.places.give_back(place.offset);
  if (!block.places.is_empty()) return;
  // One empty block of each use stays for the next buffers.
  Blocks& blocks = blocks_[static_cast<size_t>(block.use)];
  const auto spare = [&](const auto& other) {
    return other.get() != &block && other->shared && other->places.is_empty();
  };
  if (block.shared && std::none_of(blocks.begin(), blocks.end(), spare)) return;
  free(block);
  std::erase_if(blocks, [&](const auto& other) { return other.get() == &block; });
}

void Heap::free_empty() {
  for (Blocks& blocks : blocks_)
    std::erase_if(blocks, [&](const auto& block) {
      if (!block->places.is_empty()) return false;
      free(*block);
      return true;
    });
}

void Heap::add_foreign(const Block& block, int64_t offset, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  foreign_.emplace(block.address + static_cast<DeviceAddress>(offset),
                   Foreign{block.buffer, offset, bytes});
}

void Heap::remove_foreign(const Block& block, int64_t offset, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] =
      foreign_.equal_range(block.address + static_cast<DeviceAddress>(offset));
  for (auto at = begin; at != end; ++at)
    if (at->second.buffer == block.buffer && at->second.bytes == bytes) {
      foreign_.erase(at);
      return;
    }
}

Heap::Range Heap::range_of(DeviceAddress address, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  for (auto at = foreign_.upper_bound(address); at != foreign_.begin();) {
    --at;
    const auto into = static_cast<int64_t>(address - at->first);
    if (into >= 0 && into <= at->second.bytes && bytes <= at->second.bytes - into)
      return {at->second.buffer, static_cast<VkDeviceSize>(at->second.offset + into)};
  }
  auto found = by_address_.upper_bound(address);
  TCC_CHECK(found != by_address_.begin(), "no buffer at address ", address);
  const Block& block = *std::prev(found)->second;
  const auto offset = static_cast<int64_t>(address - block.address);
  check_range(0, bytes, block.places.bytes_from(offset));
  return {block.buffer, static_cast<VkDeviceSize>(offset)};
}

int64_t Heap::taken_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Blocks& blocks : blocks_)
    for (const auto& block : blocks) bytes += block->places.taken_bytes();
  return bytes;
}

uint32_t Heap::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

void Heap::destroy() {
  const std::lock_guard lock(mutex_);
  for (Blocks& blocks : blocks_) {
    for (const auto& block : blocks) free(*block);
    blocks.clear();
  }
}

}  // namespace tcc::runtime::vulkan
