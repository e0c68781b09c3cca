// Vulkan devices, buffers, semaphores and command buffers of the caller's.
#pragma once

#include <memory>
#include <span>

#include "runtime/device.h"
#include "runtime/vulkan/core.h"

namespace tcc::runtime::vulkan {

// Makes a device of the caller's known to open_device(), by a name of its own ("vulkan:own0").
// Throws Error(bad_input) when it lacks what tcc needs.
std::shared_ptr<Device> adopt_device(Adopted adopted);

// These throw Error(bad_input) for a device, a stream or a buffer of another kind.

// Wraps a part of a buffer of the device, which the caller keeps. The buffer has a device address,
// and is used for storage and copies.
std::unique_ptr<Buffer> wrap_buffer(Device& device, VkBuffer buffer, int64_t offset, int64_t bytes);
// Returns where the buffer's first byte lies.
Heap::Range range_of(const Buffer& buffer);
void wait_for(Stream& stream, SemaphoreAt semaphore);
void signal(Stream& stream, SemaphoreAt semaphore);
// Records the steps; what is returned must live as long as the commands.
std::shared_ptr<const void> record_into(Device& device, VkCommandBuffer commands,
                                        std::span<const BoundStep> steps);

}  // namespace tcc::runtime::vulkan
