// tcc on the caller's Vulkan: instance, device, queue, buffers, timeline semaphores and command
// buffers. docs/embedding.md describes its use, examples/filter_image.cpp shows it.
#pragma once

#include <vulkan/vulkan_core.h>

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace tcc::vulkan {

// A logical device is made with these for tcc, beside what the caller needs: extensions, and a
// chain of features for VkDeviceCreateInfo::pNext, which lives as long as this and its copies. Of
// the features, bufferDeviceAddress, timelineSemaphore and scalarBlockLayout are indispensable; the
// others make more kernels possible (8 and 16 bits, subgroups of a size, matrix units).
struct DeviceNeeds {
  std::vector<const char*> extensions;
  const VkPhysicalDeviceFeatures2* features = nullptr;
  std::shared_ptr<const void> memory;
};
// `api_version` is the instance's (VkApplicationInfo::apiVersion), at least 1.2. `get` is the
// loader's vkGetInstanceProcAddr; null: libvulkan.so.1's. Throws Error(bad_input) for a device that
// cannot be used.
DeviceNeeds device_needs(VkInstance instance, VkPhysicalDevice device, std::uint32_t api_version,
                         PFN_vkGetInstanceProcAddr get = nullptr);

// The caller's device. Features and extensions are those that it was made with, for tcc or not.
struct DeviceInfo {
  VkInstance instance = VK_NULL_HANDLE;
  std::uint32_t api_version = 0;  // of the instance: VkApplicationInfo::apiVersion
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;  // it computes
  std::uint32_t queue_family = 0;
  const VkPhysicalDeviceFeatures2* features = nullptr;  // with its chain; read at once
  std::vector<std::string> extensions{};
  PFN_vkGetInstanceProcAddr get = nullptr;  // null: libvulkan.so.1's
  // Called around each use of the queue, from any thread, where others use it too.
  std::function<void()> lock_queue{}, unlock_queue{};
};

// A device of the caller's, which outlives this object's copies and all that was made by its name.
class Device {
 public:
  // Throws Error(bad_input) for a device that lacks what tcc needs.
  explicit Device(const DeviceInfo& info);

  // An argument of compile(), DeviceBuffer and DeviceTensor, as long as this object, a program or a
  // buffer lives: "vulkan:own0".
  std::string name() const;
  // Takes `bytes` bytes of a buffer of the device's, from `offset` on. The buffer is bound to
  // memory that was allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, and made with the usages
  // STORAGE_BUFFER, SHADER_DEVICE_ADDRESS, TRANSFER_SRC and TRANSFER_DST. `release` is called once,
  // from any thread, when the last handle is gone and tcc's runs that use it have ended. Throws
  // Error(bad_input) for a part beyond the buffer's end.
  DeviceBuffer wrap(VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
                    std::function<void()> release = {}) const;

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Where a buffer of tcc's lies, for commands of the caller's; on the caller's device alone.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};
BufferRange range_of(const DeviceBuffer& buffer);

// Work of the context's device from now on begins when the timeline semaphore has that value. It
// may be signalled later; until then the host must not wait for the device.
void wait(Context& context, VkSemaphore semaphore, std::uint64_t value);
// Signals the timeline semaphore when all that was enqueued on the context's device has ended.
void signal(Context& context, VkSemaphore semaphore, std::uint64_t value);

// Commands of tcc's in a command buffer of the caller's. It, the context and the buffers must live
// as long as the command buffer may run.
class Recorded {
 public:
  Recorded() = default;

 private:
  friend Recorded record(Context&, VkCommandBuffer, std::span<const DeviceBuffer>,
                         std::span<const DeviceBuffer>);
  std::shared_ptr<const void> memory_;
};
// Records a run into a command buffer that is being recorded, outside of a render pass, for a
// family of the device's queue. It runs after all commands before it, and before all after it; the
// compute pipeline and push constants are not kept. The order with other runs of the context, which
// share its memory of intermediate values, and with other uses of the buffers is the caller's.
// Throws Error(bad_input) for a graph that calls functions of the host's, and as
// Context::run_device() does.
Recorded record(Context& context, VkCommandBuffer commands, std::span<const DeviceBuffer> inputs,
                std::span<const DeviceBuffer> outputs);

}  // namespace tcc::vulkan
#pragma GCC visibility pop
#endif
