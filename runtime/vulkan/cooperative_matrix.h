// VK_KHR_cooperative_matrix: products of matrices by a subgroup or a workgroup. Its declarations
// are here, as headers of Vulkan before 1.3.255 lack them.
#pragma once

#include <vulkan/vulkan.h>

#include <optional>
#include <set>
#include <vector>

#include "executable/matrix_unit.h"

namespace tcc::runtime::vulkan {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";
inline constexpr const char* kCooperativeMatrix2Extension = "VK_NV_cooperative_matrix2";
inline constexpr const char* kBfloat16Extension = "VK_KHR_shader_bfloat16";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

// VkPhysicalDeviceCooperativeMatrix2FeaturesNV.
struct CooperativeMatrix2Features {
  VkStructureType sType = static_cast<VkStructureType>(1000593000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrixWorkgroupScope = VK_FALSE;
  VkBool32 cooperativeMatrixFlexibleDimensions = VK_FALSE;
  VkBool32 cooperativeMatrixReductions = VK_FALSE;
  VkBool32 cooperativeMatrixConversions = VK_FALSE;
  VkBool32 cooperativeMatrixPerElementOperations = VK_FALSE;
  VkBool32 cooperativeMatrixTensorAddressing = VK_FALSE;
  VkBool32 cooperativeMatrixBlockLoads = VK_FALSE;
};

// VkPhysicalDeviceShaderBfloat16FeaturesKHR.
struct Bfloat16Features {
  VkStructureType sType = static_cast<VkStructureType>(1000141000);
  void* pNext = nullptr;
  VkBool32 shaderBFloat16Type = VK_FALSE;
  VkBool32 shaderBFloat16DotProduct = VK_FALSE;
  VkBool32 shaderBFloat16CooperativeMatrix = VK_FALSE;
};

// VkPhysicalDeviceCooperativeMatrixPropertiesKHR.
struct CooperativeMatrixStages {
  VkStructureType sType = static_cast<VkStructureType>(1000506002);
  void* pNext = nullptr;
  VkShaderStageFlags cooperativeMatrixSupportedStages = 0;
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

// Asks the driver for the units all of whose types are among `types`; `get` may be null. Units come
// once, in the driver's order. `exact_sum` is that of their sums in f32 (exec::MatrixUnit).
std::vector<exec::MatrixUnit> query_matrix_units(VkPhysicalDevice device,
                                                 GetCooperativeMatrixProperties get,
                                                 const std::set<DType>& types, int exact_sum);

}  // namespace tcc::runtime::vulkan
