// The features that a Vulkan device is created with, and what they allow.
#include "runtime/vulkan/features.h"

#include <gtest/gtest.h>

namespace tcc::runtime::vulkan {
namespace {

constexpr uint32_t kMatrices = 6022, kConversions = 5431, kBf16Type = 5116, kBf16Matrices = 5118;

Features multiplying() {
  Features have;
  have.v12.shaderFloat16 = have.v12.vulkanMemoryModel = VK_TRUE;
  have.cooperative_matrix.cooperativeMatrix = VK_TRUE;
  have.cooperative_matrix2.cooperativeMatrixConversions = VK_TRUE;
  have.cooperative_matrix2.cooperativeMatrixReductions = VK_TRUE;
  have.bfloat16.shaderBFloat16Type = have.bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
  return have;
}

std::set<uint32_t> capabilities(const Features& enabled) { return capabilities_of(enabled, 0, {}); }

TEST(VulkanFeatures, OfTheDeviceThoseThatKernelsUseAreEnabled) {
  Features have;
  have.core.features.shaderInt64 = have.core.features.geometryShader = VK_TRUE;
  have.v11.storageBuffer16BitAccess = VK_TRUE;
  const Features enabled = enabled_features(have, 0);
  EXPECT_TRUE(enabled.core.features.shaderInt64);
  EXPECT_FALSE(enabled.core.features.shaderInt16);
  EXPECT_FALSE(enabled.core.features.geometryShader);
  EXPECT_EQ(capabilities(enabled), (std::set<uint32_t>{0, 1, 11, 4433}));
}

TEST(VulkanFeatures, MatricesNeedTheirStageAndTheMemoryModel) {
  const Features enabled = enabled_features(multiplying(), VK_SHADER_STAGE_COMPUTE_BIT);
  EXPECT_TRUE(capabilities(enabled).contains(kMatrices));
  EXPECT_TRUE(capabilities(enabled).contains(kBf16Matrices));
  EXPECT_TRUE(capabilities(enabled).contains(kConversions));
  EXPECT_FALSE(enabled.cooperative_matrix2.cooperativeMatrixReductions) << "no kernel uses them";
  EXPECT_FALSE(capabilities(enabled_features(multiplying(), VK_SHADER_STAGE_FRAGMENT_BIT))
                   .contains(kMatrices));
  EXPECT_FALSE(capabilities(enabled_features(multiplying(), VK_SHADER_STAGE_FRAGMENT_BIT))
                   .contains(kConversions));
  Features have = multiplying();
  have.v12.vulkanMemoryModel = VK_FALSE;
  EXPECT_FALSE(
      capabilities(enabled_features(have, VK_SHADER_STAGE_COMPUTE_BIT)).contains(kMatrices));
}

TEST(VulkanFeatures, MatricesOfWorkgroupsAreThereAsAWholeOrNotAtAll) {
  constexpr uint32_t kTensorLoads = 5433, kTensors = 5439;
  Features have = multiplying();
  have.cooperative_matrix2.cooperativeMatrixWorkgroupScope = VK_TRUE;
  have.cooperative_matrix2.cooperativeMatrixTensorAddressing = VK_TRUE;
  Features enabled = enabled_features(have, VK_SHADER_STAGE_COMPUTE_BIT);
  EXPECT_FALSE(enabled.cooperative_matrix2.cooperativeMatrixWorkgroupScope);
  EXPECT_FALSE(capabilities(enabled).contains(kTensorLoads));
  have.cooperative_matrix2.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  enabled = enabled_features(have, VK_SHADER_STAGE_COMPUTE_BIT);
  EXPECT_TRUE(enabled.cooperative_matrix2.cooperativeMatrixWorkgroupScope);
  EXPECT_TRUE(enabled.cooperative_matrix2.cooperativeMatrixFlexibleDimensions);
  EXPECT_TRUE(capabilities(enabled).contains(kTensorLoads));
  EXPECT_TRUE(capabilities(enabled).contains(kTensors));
}

TEST(VulkanFeatures, MatricesHaveEnabledTypes) {
  Features have = multiplying();
  EXPECT_EQ(matrix_types(enabled_features(have, VK_SHADER_STAGE_COMPUTE_BIT)),
            (std::set<DType>{DType::f16, DType::bf16, DType::f32, DType::i32, DType::u32}));
  // bf16 without matrices of it.
  have.bfloat16.shaderBFloat16CooperativeMatrix = VK_FALSE;
  have.v12.shaderInt8 = VK_TRUE;
  const Features enabled = enabled_features(have, VK_SHADER_STAGE_COMPUTE_BIT);
  EXPECT_EQ(matrix_types(enabled), (std::set<DType>{DType::f16, DType::f32, DType::i32, DType::u32,
                                                    DType::i8, DType::u8}));
  EXPECT_FALSE(capabilities(enabled).contains(kBf16Type));
}

TEST(VulkanFeatures, DotProductsAreTwoCapabilities) {
  Features have;
  EXPECT_FALSE(capabilities(enabled_features(have, 0)).contains(6018));
  have.dot_product.shaderIntegerDotProduct = VK_TRUE;
  EXPECT_EQ(capabilities(enabled_features(have, 0)), (std::set<uint32_t>{0, 1, 6018, 6019}));
}

// A caller's device says so in either structure.
TEST(VulkanFeatures, DotProductsAreFoundInChains) {
  VkPhysicalDeviceVulkan13Features v13{};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  v13.shaderIntegerDotProduct = VK_TRUE;
  VkPhysicalDeviceShaderIntegerDotProductFeatures single{};
  single.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  single.shaderIntegerDotProduct = VK_TRUE;
  VkPhysicalDeviceFeatures2 chain{};
  for (void* next : {static_cast<void*>(&v13), static_cast<void*>(&single)}) {
    chain.pNext = next;
    EXPECT_TRUE(features_of(chain).dot_product.shaderIntegerDotProduct);
  }
}

TEST(VulkanFeatures, SubgroupsAndFloatControlsAreCapabilities) {
  const auto all = capabilities_of(
      Features(), VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT, {32, 0, 16});
  EXPECT_EQ(all, (std::set<uint32_t>{0, 1, 61, 65, 4466, 4467}));
}

TEST(VulkanFeatures, ChainsHoldWhatTheDeviceKnows) {
  Features features;
  const auto types = [&](const FeatureChain& chain) {
    std::vector<VkStructureType> found;
    for (auto* one = reinterpret_cast<VkBaseOutStructure*>(features.link(chain)); one;
         one = one->pNext)
      found.push_back(one->sType);
    return found;
  };
  EXPECT_EQ(types({}).size(), 3u);
  const auto all = types({.subgroup_size = true,
                          .cooperative_matrix = true,
                          .cooperative_matrix2 = true,
                          .bfloat16 = true,
                          .dot_product = true});
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[6], static_cast<VkStructureType>(1000141000));
  EXPECT_EQ(all.back(), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  EXPECT_EQ(types({.bfloat16 = true}).size(), 4u);
}

}  // namespace
}  // namespace tcc::runtime::vulkan
