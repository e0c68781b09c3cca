// The Vulkan functions that tcc calls, as tables of pointers: the loader is opened at run time,
// never linked.
#pragma once

#include <vulkan/vulkan.h>

#include "runtime/vulkan/cooperative_matrix.h"

namespace tcc::runtime::vulkan {

#define TCC_VULKAN_GLOBAL_FUNCTIONS(X)    \
  X(CreateInstance)                       \
  X(EnumerateInstanceExtensionProperties) \
  X(EnumerateInstanceLayerProperties)     \
  X(EnumerateInstanceVersion)

#define TCC_VULKAN_INSTANCE_FUNCTIONS(X) \
  X(CreateDevice)                        \
  X(EnumerateDeviceExtensionProperties)  \
  X(EnumeratePhysicalDevices)            \
  X(GetDeviceProcAddr)                   \
  X(GetPhysicalDeviceFeatures2)          \
  X(GetPhysicalDeviceMemoryProperties)   \
  X(GetPhysicalDeviceProperties)         \
  X(GetPhysicalDeviceProperties2)        \
  X(GetPhysicalDeviceQueueFamilyProperties)

#define TCC_VULKAN_DEVICE_FUNCTIONS(X) \
  X(AllocateCommandBuffers)            \
  X(AllocateMemory)                    \
  X(BeginCommandBuffer)                \
  X(BindBufferMemory)                  \
  X(CmdBindPipeline)                   \
  X(CmdCopyBuffer)                     \
  X(CmdDispatch)                       \
  X(CmdFillBuffer)                     \
  X(CmdPipelineBarrier)                \
  X(CmdPushConstants)                  \
  X(CmdResetQueryPool)                 \
  X(CmdWriteTimestamp)                 \
  X(CreateBuffer)                      \
  X(CreateCommandPool)                 \
  X(CreateComputePipelines)            \
  X(CreatePipelineCache)               \
  X(CreatePipelineLayout)              \
  X(CreateQueryPool)                   \
  X(CreateSemaphore)                   \
  X(CreateShaderModule)                \
  X(DestroyBuffer)                     \
  X(DestroyCommandPool)                \
  X(DestroyDevice)                     \
  X(DestroyPipeline)                   \
  X(DestroyPipelineCache)              \
  X(DestroyPipelineLayout)             \
  X(DestroyQueryPool)                  \
  X(DestroySemaphore)                  \
  X(DestroyShaderModule)               \
  X(EndCommandBuffer)                  \
  X(FreeMemory)                        \
  X(GetBufferDeviceAddress)            \
  X(GetBufferMemoryRequirements)       \
  X(GetDeviceQueue)                    \
  X(GetPipelineCacheData)              \
  X(GetQueryPoolResults)               \
  X(MapMemory)                         \
  X(MergePipelineCaches)               \
  X(QueueSubmit)                       \
  X(WaitSemaphores)

#define TCC_DECLARE_FUNCTION(name) PFN_vk##name name = nullptr;
struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  TCC_VULKAN_GLOBAL_FUNCTIONS(TCC_DECLARE_FUNCTION)
};
struct InstanceFunctions {
  TCC_VULKAN_INSTANCE_FUNCTIONS(TCC_DECLARE_FUNCTION)
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT =
      nullptr;  // with validation only
  GetCooperativeMatrixProperties GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      nullptr;  // where the driver has the extension
};
struct DeviceFunctions {
  TCC_VULKAN_DEVICE_FUNCTIONS(TCC_DECLARE_FUNCTION)
  // Where the device is created with VK_KHR_external_memory_fd.
  PFN_vkGetMemoryFdKHR GetMemoryFdKHR = nullptr;
  // Where the device is created with VK_KHR_pipeline_executable_properties.
  PFN_vkGetPipelineExecutableStatisticsKHR GetPipelineExecutableStatisticsKHR = nullptr;
};
#undef TCC_DECLARE_FUNCTION

// The loader, opened once per process and kept. Throws Error(no_device) when libvulkan.so.1 is
// missing.
const GlobalFunctions& global_functions();
InstanceFunctions load_instance_functions(VkInstance instance, PFN_vkGetInstanceProcAddr get);
DeviceFunctions load_device_functions(const InstanceFunctions& vk, VkDevice device);

}  // namespace tcc::runtime::vulkan
