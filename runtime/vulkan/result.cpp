#include "runtime/vulkan/result.h"

#include "support/error.h"

namespace tcc::runtime::vulkan {

std::string result_name(VkResult result) {
  switch (result) {
#define TCC_NAME(name) \
  case name: return #name;
    TCC_NAME(VK_SUCCESS)
    TCC_NAME(VK_NOT_READY)
    TCC_NAME(VK_TIMEOUT)
    TCC_NAME(VK_INCOMPLETE)
    TCC_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    TCC_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TCC_NAME(VK_ERROR_INITIALIZATION_FAILED)
    TCC_NAME(VK_ERROR_DEVICE_LOST)
    TCC_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    TCC_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    TCC_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    TCC_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    TCC_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    TCC_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    TCC_NAME(VK_ERROR_UNKNOWN)
    TCC_NAME(VK_ERROR_INVALID_SHADER_NV)
#undef TCC_NAME
    default: return str("VkResult ", static_cast<int>(result));
  }
}

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS) fail_device(call, ": ", result_name(result));
}

}  // namespace tcc::runtime::vulkan
