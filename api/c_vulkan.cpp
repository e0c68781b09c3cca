// The C ABI: the caller's Vulkan.
#include "tcc/c_vulkan.h"

#include "api/c_handles.h"

#include "tcc/vulkan.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_vulkan_needs {
  tcc::vulkan::DeviceNeeds needs;
};

struct tcc_vulkan_device {
  explicit tcc_vulkan_device(const tcc::vulkan::DeviceInfo& info)
      : device(info), name(device.name()) {}
  const tcc::vulkan::Device device;
  const std::string name;
};

struct tcc_vulkan_recorded {
  tcc::vulkan::Recorded recorded;
};

tcc_status tcc_vulkan_needs_create(VkInstance instance, VkPhysicalDevice device,
                                   uint32_t api_version, PFN_vkGetInstanceProcAddr get,
                                   tcc_vulkan_needs** needs) noexcept {
  return guard([&] {
    given(needs, "needs");
    *needs = new tcc_vulkan_needs{tcc::vulkan::device_needs(instance, device, api_version, get)};
  });
}

void tcc_vulkan_needs_destroy(tcc_vulkan_needs* needs) noexcept { delete needs; }

const VkPhysicalDeviceFeatures2* tcc_vulkan_needs_features(const tcc_vulkan_needs* needs) noexcept {
  return needs ? needs->needs.features : nullptr;
}

size_t tcc_vulkan_needs_num_extensions(const tcc_vulkan_needs* needs) noexcept {
  return needs ? needs->needs.extensions.size() : 0;
}

const char* const* tcc_vulkan_needs_extensions(const tcc_vulkan_needs* needs) noexcept {
  return needs ? needs->needs.extensions.data() : nullptr;
}

tcc_status tcc_vulkan_device_create(const tcc_vulkan_device_info* info,
                                    tcc_vulkan_device** device) noexcept {
  return guard([&] {
    given(device, "device");
    const tcc_vulkan_device_info theirs = sized(given(info, "info"), "tcc_vulkan_device_info");
    tcc::vulkan::DeviceInfo ours;
    ours.instance = theirs.instance;
    ours.api_version = theirs.api_version;
    ours.physical_device = theirs.physical_device;
    ours.device = theirs.device;
    ours.queue = theirs.queue;
    ours.queue_family = theirs.queue_family;
    ours.features = theirs.features;
    for (const char* name : span_of(theirs.extensions, theirs.num_extensions, "extensions"))
      ours.extensions.emplace_back(&given(name, "a name in extensions"));
    ours.get = theirs.get;
    if (theirs.lock_queue)
      ours.lock_queue = [lock = theirs.lock_queue, user = theirs.user] { lock(user); };
    if (theirs.unlock_queue)
      ours.unlock_queue = [unlock = theirs.unlock_queue, user = theirs.user] { unlock(user); };
    *device = new tcc_vulkan_device(ours);
  });
}

void tcc_vulkan_device_destroy(tcc_vulkan_device* device) noexcept { delete device; }

const char* tcc_vulkan_device_name(const tcc_vulkan_device* device) noexcept {
  return device ? device->name.c_str() : "";
}

tcc_status tcc_vulkan_buffer_wrap(const tcc_vulkan_device* device, VkBuffer vk_buffer,
                                  VkDeviceSize offset, VkDeviceSize bytes,
                                  void (*release)(void* user), void* user,
                                  tcc_buffer** buffer) noexcept {
  return guard([&] {
    given(buffer, "buffer");
    auto made = std::make_unique<tcc_buffer>();
    std::function<void()> end;
    if (release) end = [release, user] { release(user); };
    made->memory = given(device, "device").device.wrap(vk_buffer, offset, bytes, end);
    *buffer = made.release();
  });
}

tcc_status tcc_vulkan_buffer_range(const tcc_buffer* buffer, VkBuffer* vk_buffer,
                                   VkDeviceSize* offset) noexcept {
  return guard([&] {
    const auto range = tcc::vulkan::range_of(given(buffer, "buffer").memory);
    given(vk_buffer, "vk_buffer");
    given(offset, "offset") = range.offset;
    *vk_buffer = range.buffer;
  });
}

tcc_status tcc_vulkan_wait(tcc_context* context, VkSemaphore semaphore, uint64_t value) noexcept {
  return guard([&] { tcc::vulkan::wait(given(context, "context").context, semaphore, value); });
}

tcc_status tcc_vulkan_signal(tcc_context* context, VkSemaphore semaphore, uint64_t value) noexcept {
  return guard([&] { tcc::vulkan::signal(given(context, "context").context, semaphore, value); });
}

tcc_status tcc_vulkan_record(tcc_context* context, VkCommandBuffer commands,
                             tcc_buffer* const* inputs, size_t num_inputs,
                             tcc_buffer* const* outputs, size_t num_outputs,
                             tcc_vulkan_recorded** recorded) noexcept {
  return guard([&] {
    given(recorded, "recorded");
    auto made = std::make_unique<tcc_vulkan_recorded>();
    made->recorded = tcc::vulkan::record(given(context, "context").context, commands,
                                         memory_of(inputs, num_inputs, "inputs"),
                                         memory_of(outputs, num_outputs, "outputs"));
    *recorded = made.release();
  });
}

void tcc_vulkan_recorded_destroy(tcc_vulkan_recorded* recorded) noexcept { delete recorded; }
