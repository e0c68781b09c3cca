// VK_KHR_cooperative_matrix: products of matrices by a subgroup or a workgroup. Its declarations
// are here, as headers of Vulkan before 1.3.255 lack them.
#pragma once

#include <vulkan/vulkan.h>

#include <optional>
#include <vector>

#include "executable/matrix_unit.h"

namespace tcc::runtime::vulkan {

inline constexpr const char* kCooperativeMatrix = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

// VkCooperativeMatrixPropertiesKHR.
struct CooperativeMatrixProperties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void* pNext = nullptr;
  uint32_t MSize = 0, NSize = 0, KSize = 0;
  uint32_t AType = 0, BType = 0, CType = 0, ResultType = 0;  // VkComponentTypeKHR
  VkBool32 saturatingAccumulation = VK_FALSE;
  uint32_t scope = 0;  // VkScopeKHR
};
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice device,
                                                            uint32_t* count,
                                                            CooperativeMatrixProperties* list);

// Nothing for types and scopes that tcc does not know, and for sizes that no matrix has.
std::optional<exec::MatrixUnit> matrix_unit_of(const CooperativeMatrixProperties& properties);

// Asks the driver; `get` may be null. Units come once, in the driver's order.
std::vector<exec::MatrixUnit> query_matrix_units(VkPhysicalDevice device,
                                                 GetCooperativeMatrixProperties get);

}  // namespace tcc::runtime::vulkan
