// The features of Vulkan that tcc's kernels and runtime may use, and what they allow: SPIR-V's
// capabilities and the types of cooperative matrices.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <set>

#include "executable/target.h"
#include "ir/dtype.h"
#include "runtime/vulkan/cooperative_matrix.h"

namespace tcc::runtime::vulkan {

// Whether structures that depend on an extension are in a chain.
struct FeatureChain {
  bool subgroup_size = false;
  bool cooperative_matrix = false;
  bool cooperative_matrix2 = false;
  bool bfloat16 = false;
  bool dot_product = false;
};

// Feature structures that point to one another: link() before every use.
struct Features {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size{};
  CooperativeMatrixFeatures cooperative_matrix{};
  CooperativeMatrix2Features cooperative_matrix2{};
  Bfloat16Features bfloat16{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product{};
  VkPhysicalDeviceFeatures2* link(const FeatureChain& chain);
};

// Puts `next` behind `last` in a chain of structures.
template <class Last, class Next>
VkBaseOutStructure* append(Last* last, Next& next, VkStructureType type) {
  next.sType = type;
  next.pNext = nullptr;
  auto* added = reinterpret_cast<VkBaseOutStructure*>(&next);
  last->pNext = added;
  return added;
}

// Returns the features of a chain of structures, of which it may have the newer collections or the
// single ones before them.
Features features_of(const VkPhysicalDeviceFeatures2& chain);

// Returns those of the device's features that tcc enables. `matrix_stages` are the stages whose
// shaders may use cooperative matrices.
Features enabled_features(const Features& have, VkShaderStageFlags matrix_stages);

// Returns SPIR-V's capabilities that modules may declare on a device which was created with these
// features. `subgroup_operations` are those of compute shaders.
std::set<uint32_t> capabilities_of(const Features& enabled,
                                   VkSubgroupFeatureFlags subgroup_operations,
                                   const exec::FloatControls& controls);

// Returns the types that cooperative matrices may have with these features.
std::set<DType> matrix_types(const Features& enabled);

}  // namespace tcc::runtime::vulkan
