// Turns a VkResult into an error.
#pragma once

#include <vulkan/vulkan.h>

#include <string>

namespace tcc::runtime::vulkan {

// "VK_ERROR_DEVICE_LOST", or "VkResult -17" for what tcc does not know.
std::string result_name(VkResult result);

// Throws Error(device) "CALL: RESULT" unless the call succeeded.
void check(VkResult result, const char* call);

}  // namespace tcc::runtime::vulkan
