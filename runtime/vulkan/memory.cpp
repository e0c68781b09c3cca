#include "runtime/vulkan/memory.h"

#include <algorithm>

#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
// No VkBuffer may be empty, and kernels load up to 16 bytes at once.
constexpr int64_t kSmallest = 16;

}  // namespace

Memory::Memory(std::shared_ptr<Core> core, MemoryUse use, int64_t bytes)
    : core_(std::move(core)), bytes_(bytes) {
  TCC_CHECK(bytes >= 0, bytes, " bytes");
  core_->require_alive();
  const int64_t limit = core_->physical().target.max_buffer_bytes;
  if (bytes > limit)
    fail_device(core_->name(), ": out of memory: one buffer of ", bytes_text(bytes),
                " asked for; the device allows ", bytes_text(limit));
  try {
    create_buffer();
    allocate(use);
  } catch (...) {
    destroy();
    throw;
  }
}

Memory::~Memory() {
  if (core_->retire()) destroy();
}

void Memory::create_buffer() {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = static_cast<VkDeviceSize>(std::max(bytes_, kSmallest));
  info.usage = kUsage;
  core_->check(core_->vk().CreateBuffer(core_->device(), &info, nullptr, &buffer_),
               "vkCreateBuffer");
}

void Memory::allocate(MemoryUse use) {
  const DeviceFunctions& vk = core_->vk();
  const Physical& physical = core_->physical();
  VkMemoryRequirements needed;
  vk.GetBufferMemoryRequirements(core_->device(), buffer_, &needed);
  const auto type = choose_memory_type(physical.memory, use, physical.target.unified_memory,
                                       needed.memoryTypeBits);
  if (!type) fail_device(core_->name(), ": no memory type for a buffer");

  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = needed.size;
  info.memoryTypeIndex = *type;
  core_->reserve(static_cast<int64_t>(needed.size));
  reserved_ = static_cast<int64_t>(needed.size);
  const VkResult result = vk.AllocateMemory(core_->device(), &info, nullptr, &memory_);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    fail_device(core_->name(), ": out of memory: ", bytes_text(reserved_),
                " asked for; the device has ", bytes_text(physical.memory_bytes));
  core_->check(result, "vkAllocateMemory");
  core_->check(vk.BindBufferMemory(core_->device(), buffer_, memory_, 0), "vkBindBufferMemory");

  // A discrete GPU's memory may be visible to the host, but reading it there is slow: copies are
  // staged.
  if (use != MemoryUse::device || physical.target.unified_memory) {
    void* mapped = nullptr;
    core_->check(vk.MapMemory(core_->device(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped),
                 "vkMapMemory");
    mapped_ = static_cast<std::byte*>(mapped);
  }
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = buffer_;
  address_ = vk.GetBufferDeviceAddress(core_->device(), &address);
  core_->add_buffer(address_, bytes_, buffer_);
}

void Memory::destroy() {
  const DeviceFunctions& vk = core_->vk();
  if (address_ != 0) core_->remove_buffer(address_);
  vk.DestroyBuffer(core_->device(), buffer_, nullptr);
  vk.FreeMemory(core_->device(), memory_, nullptr);  // unmaps it
  if (reserved_ > 0) core_->release(reserved_);
}

}  // namespace tcc::runtime::vulkan
