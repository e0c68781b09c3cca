#include "runtime/vulkan/functions.h"

#include "support/error.h"
#include "support/system.h"

namespace tcc::runtime::vulkan {
namespace {

template <class Function>
void assign(Function& function, PFN_vkVoidFunction loaded, const char* name) {
  function = reinterpret_cast<Function>(loaded);
  if (!function) throw Error(ErrorKind::no_device, str("the Vulkan driver lacks ", name));
}

constexpr const char* kLoader = system::kIsWindows ? "vulkan-1.dll" : "libvulkan.so.1";

GlobalFunctions open_loader() {
  std::string reason;
  void* library = system::open_library(kLoader, reason);
  if (!library) throw Error(ErrorKind::no_device, str(kLoader, " not found"));
  GlobalFunctions vk;
  vk.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      system::library_symbol(library, "vkGetInstanceProcAddr"));
  if (!vk.GetInstanceProcAddr)
    throw Error(ErrorKind::no_device, str(kLoader, " is no Vulkan loader"));
#define TCC_LOAD(name) assign(vk.name, vk.GetInstanceProcAddr(nullptr, "vk" #name), "vk" #name);
  TCC_VULKAN_GLOBAL_FUNCTIONS(TCC_LOAD)
#undef TCC_LOAD
  return vk;
}

}  // namespace

const GlobalFunctions& global_functions() {
  static const GlobalFunctions functions = open_loader();
  return functions;
}

InstanceFunctions load_instance_functions(VkInstance instance, PFN_vkGetInstanceProcAddr get) {
  InstanceFunctions vk;
#define TCC_LOAD(name) assign(vk.name, get(instance, "vk" #name), "vk" #name);
  TCC_VULKAN_INSTANCE_FUNCTIONS(TCC_LOAD)
#undef TCC_LOAD
  vk.CreateDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      get(instance, "vkCreateDebugUtilsMessengerEXT"));
  vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<GetCooperativeMatrixProperties>(
          get(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return vk;
}

DeviceFunctions load_device_functions(const InstanceFunctions& instance, VkDevice device) {
  DeviceFunctions vk;
#define TCC_LOAD(name) assign(vk.name, instance.GetDeviceProcAddr(device, "vk" #name), "vk" #name);
  TCC_VULKAN_DEVICE_FUNCTIONS(TCC_LOAD)
#undef TCC_LOAD
  vk.GetMemoryFdKHR = reinterpret_cast<PFN_vkGetMemoryFdKHR>(
      instance.GetDeviceProcAddr(device, "vkGetMemoryFdKHR"));
  vk.GetPipelineExecutableStatisticsKHR =
      reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
          instance.GetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR"));
  return vk;
}

}  // namespace tcc::runtime::vulkan
