// The Vulkan instance of this process, with the validation layer where TCC_VULKAN_VALIDATION=1 asks
// for it.
#pragma once

#include <vector>

#include "runtime/vulkan/functions.h"

namespace tcc::runtime::vulkan {

struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  InstanceFunctions vk;
  std::vector<VkPhysicalDevice> devices;  // in the loader's order: the N of "vulkan:N"
};

// Made on first use and never destroyed: the drivers stay loaded. Throws Error(no_device) with the
// reason when there is no loader or no driver.
const Instance& instance();

}  // namespace tcc::runtime::vulkan
