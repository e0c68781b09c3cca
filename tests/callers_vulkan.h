// A program of its own Vulkan device, for tests: instance, device, queue, buffers, semaphores,
// command buffers.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/vulkan/functions.h"
#include "support/error.h"

#include "tcc/vulkan.hpp"

namespace tcc::testing {

class CallersVulkan {
 public:
  // `fewest`: the device has the indispensable features alone; `lacks_timelines`: not even those.
  explicit CallersVulkan(bool fewest = false, bool lacks_timelines = false) {
    const auto& global = runtime::vulkan::global_functions();
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = kVersion;
    VkInstanceCreateInfo made{};
    made.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    made.pApplicationInfo = &application;
    check(global.CreateInstance(&made, nullptr, &instance));
    ivk = runtime::vulkan::load_instance_functions(instance, global.GetInstanceProcAddr);
    uint32_t count = 1;
    ivk.EnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0) throw Error(ErrorKind::no_device, "no Vulkan device");
    count = 0;
    ivk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    ivk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    while (!(families.at(family).queueFlags & VK_QUEUE_COMPUTE_BIT)) ++family;

    needs = vulkan::device_needs(instance, physical, kVersion);
    fewest_v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    fewest_v12.bufferDeviceAddress = fewest_v12.scalarBlockLayout = VK_TRUE;
    fewest_v12.timelineSemaphore = lacks_timelines ? VK_FALSE : VK_TRUE;
    fewest_features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    fewest_features.pNext = &fewest_v12;
    const float priority = 1;
    VkDeviceQueueCreateInfo queues{};
    queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues.queueFamilyIndex = family;
    queues.queueCount = 1;
    queues.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = features = fewest ? &fewest_features : needs.features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    if (!fewest) extensions.assign(needs.extensions.begin(), needs.extensions.end());
    std::vector<const char*> names;
    for (const std::string& name : extensions) names.push_back(name.c_str());
    info.enabledExtensionCount = static_cast<uint32_t>(names.size());
    info.ppEnabledExtensionNames = names.data();
    check(ivk.CreateDevice(physical, &info, nullptr, &device));
    vk = runtime::vulkan::load_device_functions(ivk, device);
    vk.GetDeviceQueue(device, family, 0, &queue);
    VkCommandPoolCreateInfo pools{};
    pools.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pools.queueFamilyIndex = family;
    check(vk.CreateCommandPool(device, &pools, nullptr, &pool));
  }
  ~CallersVulkan() {
    function<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device);
    for (const VkSemaphore semaphore : semaphores) vk.DestroySemaphore(device, semaphore, nullptr);
    for (const Memory& memory : memories) {
      vk.DestroyBuffer(device, memory.buffer, nullptr);
      vk.FreeMemory(device, memory.memory, nullptr);
    }
    vk.DestroyCommandPool(device, pool, nullptr);
    vk.DestroyDevice(device, nullptr);
    const auto destroy =
        runtime::vulkan::global_functions().GetInstanceProcAddr(instance, "vkDestroyInstance");
    reinterpret_cast<PFN_vkDestroyInstance>(destroy)(instance, nullptr);
  }
  CallersVulkan(const CallersVulkan&) = delete;
  CallersVulkan& operator=(const CallersVulkan&) = delete;

  vulkan::DeviceInfo info() const {
    vulkan::DeviceInfo result;
    result.instance = instance;
    result.api_version = kVersion;
    result.physical_device = physical;
    result.device = device;
    result.queue = queue;
    result.queue_family = family;
    result.features = features;
    result.extensions = extensions;
    return result;
  }

  // A buffer whose memory the host sees.
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    float* floats = nullptr;
  };
  Memory make_buffer(int64_t bytes) {
    Memory made;
    VkBufferCreateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer.size = static_cast<VkDeviceSize>(bytes);
    buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    check(vk.CreateBuffer(device, &buffer, nullptr, &made.buffer));
    VkMemoryRequirements needed;
    vk.GetBufferMemoryRequirements(device, made.buffer, &needed);
    VkPhysicalDeviceMemoryProperties types;
    ivk.GetPhysicalDeviceMemoryProperties(physical, &types);
    constexpr VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (!(needed.memoryTypeBits >> type & 1) ||
           (types.memoryTypes[type].propertyFlags & wanted) != wanted)
      ++type;
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.pNext = &flags;
    memory.allocationSize = needed.size;
    memory.memoryTypeIndex = type;
    check(vk.AllocateMemory(device, &memory, nullptr, &made.memory));
    check(vk.BindBufferMemory(device, made.buffer, made.memory, 0));
    void* mapped = nullptr;
    check(vk.MapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    std::memset(mapped, 0, static_cast<size_t>(bytes));
    made.floats = static_cast<float*>(mapped);
    memories.push_back(made);
    return made;
  }

  VkSemaphore make_timeline() {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    check(vk.CreateSemaphore(device, &info, nullptr, &semaphore));
    semaphores.push_back(semaphore);
    return semaphore;
  }
  void signal(VkSemaphore semaphore, uint64_t value) {
    VkSemaphoreSignalInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = semaphore;
    info.value = value;
    check(function<PFN_vkSignalSemaphore>("vkSignalSemaphore")(device, &info));
  }
  // Whether it has the value within so many seconds.
  bool reaches(VkSemaphore semaphore, uint64_t value, double seconds) {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    return vk.WaitSemaphores(device, &info, static_cast<uint64_t>(seconds * 1e9)) == VK_SUCCESS;
  }

  VkCommandBuffer begin() {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vk.AllocateCommandBuffers(device, &info, &commands));
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vk.BeginCommandBuffer(commands, &begin));
    return commands;
  }
  void run(VkCommandBuffer commands) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    check(vk.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    check(function<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue));
  }

  static void check(VkResult result) {
    if (result != VK_SUCCESS) throw Error(ErrorKind::device, str("Vulkan: ", int{result}));
  }
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(ivk.GetDeviceProcAddr(device, name));
  }

  static constexpr uint32_t kVersion = VK_API_VERSION_1_2;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  uint32_t family = 0;
  runtime::vulkan::InstanceFunctions ivk;
  runtime::vulkan::DeviceFunctions vk;
  vulkan::DeviceNeeds needs;
  VkPhysicalDeviceVulkan12Features fewest_v12{};
  VkPhysicalDeviceFeatures2 fewest_features{};
  const VkPhysicalDeviceFeatures2* features = nullptr;
  std::vector<std::string> extensions;
  std::vector<Memory> memories;
  std::vector<VkSemaphore> semaphores;
};

}  // namespace tcc::testing
