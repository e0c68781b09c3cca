#include "runtime/vulkan/memory.h"

#include "support/error.h"

namespace tcc::runtime::vulkan {

Memory::Memory(std::shared_ptr<Core> core, MemoryUse use, int64_t bytes)
    : core_(std::move(core)), bytes_(bytes) {
  core_->require_alive();
  place_ = core_->heap().take(use, bytes);
}

Memory::Memory(std::shared_ptr<Core> core, VkBuffer buffer, int64_t offset, int64_t bytes)
    : core_(std::move(core)), bytes_(bytes) {
  core_->require_alive();
  VkMemoryRequirements needed;
  core_->vk().GetBufferMemoryRequirements(core_->device(), buffer, &needed);
  if (const auto size = static_cast<int64_t>(needed.size);
      offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
    fail_input("bytes ", offset, " to ", offset, " + ", bytes, " of a Vulkan buffer of ", size);
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = buffer;
  foreign_ = std::make_unique<Heap::Block>(
      Heap::Block{.buffer = buffer,
                  .bytes = static_cast<int64_t>(needed.size),
                  .address = core_->vk().GetBufferDeviceAddress(core_->device(), &address),
                  .places = Places(Places::kGrain)});
  if (foreign_->address == 0)
    fail_input(
        "a Vulkan buffer without a device address: it is to be made with "
        "VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, and bound to memory");
  place_ = {foreign_.get(), offset};
  core_->heap().add_foreign(*foreign_, offset, bytes);
}

Memory::Memory(std::shared_ptr<Core> core, int64_t bytes, Device::Exported& allocation)
    : core_(std::move(core)), bytes_(bytes) {
  core_->require_alive();
  const DeviceFunctions& vk = core_->vk();
  if (!vk.GetMemoryFdKHR)
    fail_input(core_->name(), ": the driver lacks VK_KHR_external_memory_fd: it shares no memory");
  foreign_ =
      std::make_unique<Heap::Block>(Heap::Block{.bytes = bytes, .places = Places(Places::kGrain)});
  try {
    core_->heap().make_exported(*foreign_);
    VkMemoryGetFdInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
    info.memory = foreign_->memory;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    core_->check(vk.GetMemoryFdKHR(core_->device(), &info, &allocation.file), "vkGetMemoryFdKHR");
  } catch (...) {
    core_->heap().free_exported(*foreign_);
    throw;
  }
  allocation.allocation_bytes = foreign_->reserved;
  place_ = {foreign_.get(), 0};
  core_->heap().add_foreign(*foreign_, 0, bytes);
}

Memory::~Memory() {
  if (foreign_) {
    core_->heap().remove_foreign(*foreign_, place_.offset, bytes_);
    if (foreign_->memory && core_->retire()) core_->heap().free_exported(*foreign_);
    return;
  }
  if (core_->retire()) core_->heap().give_back(place_);
}

}  // namespace tcc::runtime::vulkan
