#include "runtime/vulkan/features.h"

namespace tcc::runtime::vulkan {
namespace {

// SPIR-V's numbers of capabilities.
constexpr uint32_t kMatrix = 0, kShader = 1, kFloat16 = 9, kFloat64 = 10, kInt64 = 11, kInt16 = 22,
                   kInt8 = 39;
constexpr uint32_t kStorageBuffer16BitAccess = 4433, kStorageBuffer8BitAccess = 4448;
constexpr uint32_t kDenormPreserve = 4464, kSignedZeroInfNanPreserve = 4466,
                   kRoundingModeRte = 4467;
constexpr uint32_t kBFloat16Type = 5116, kBFloat16CooperativeMatrix = 5118;
constexpr uint32_t kVulkanMemoryModel = 5345, kVulkanMemoryModelDeviceScope = 5346,
                   kPhysicalStorageBufferAddresses = 5347, kCooperativeMatrixConversions = 5431,
                   kCooperativeMatrixTensorAddressing = 5433, kTensorAddressing = 5439,
                   kDotProductInput4x8BitPacked = 6018, kDotProduct = 6019,
                   kCooperativeMatrix = 6022;

struct SubgroupCapability {
  VkSubgroupFeatureFlagBits operation;
  uint32_t capability;
};
constexpr SubgroupCapability kSubgroupCapabilities[] = {
    {VK_SUBGROUP_FEATURE_BASIC_BIT, 61},      {VK_SUBGROUP_FEATURE_VOTE_BIT, 62},
    {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, 63}, {VK_SUBGROUP_FEATURE_BALLOT_BIT, 64},
    {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, 65},    {VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, 66},
    {VK_SUBGROUP_FEATURE_CLUSTERED_BIT, 67},  {VK_SUBGROUP_FEATURE_QUAD_BIT, 68},
};

}  // namespace

VkPhysicalDeviceFeatures2* Features::link(const FeatureChain& chain) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  auto* last = reinterpret_cast<VkBaseOutStructure*>(&core);
  last = append(last, v11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  last = append(last, v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  if (chain.subgroup_size)
    last = append(last, subgroup_size,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  if (chain.cooperative_matrix)
    last = append(last, cooperative_matrix, CooperativeMatrixFeatures().sType);
  if (chain.cooperative_matrix2)
    last = append(last, cooperative_matrix2, CooperativeMatrix2Features().sType);
  if (chain.bfloat16) last = append(last, bfloat16, Bfloat16Features().sType);
  if (chain.dot_product)
    append(last, dot_product,
           VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  return &core;
}

Features features_of(const VkPhysicalDeviceFeatures2& chain) {
  Features have;
  have.core.features = chain.features;
  for (const auto* next = static_cast<const VkBaseInStructure*>(chain.pNext); next;
       next = next->pNext) {
    const auto as = [&]<class T>(const T&) -> const T& {
      return *reinterpret_cast<const T*>(next);  // NOLINT: what sType says
    };
    switch (next->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        have.v11 = as(VkPhysicalDeviceVulkan11Features());
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        have.v12 = as(VkPhysicalDeviceVulkan12Features());
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
        const auto& v13 = as(VkPhysicalDeviceVulkan13Features());
        have.subgroup_size.subgroupSizeControl = v13.subgroupSizeControl;
        have.subgroup_size.computeFullSubgroups = v13.computeFullSubgroups;
        have.dot_product.shaderIntegerDotProduct = v13.shaderIntegerDotProduct;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
        have.dot_product.shaderIntegerDotProduct =
            as(VkPhysicalDeviceShaderIntegerDotProductFeatures()).shaderIntegerDotProduct;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
        const auto& control = as(VkPhysicalDeviceSubgroupSizeControlFeatures());
        have.subgroup_size.subgroupSizeControl = control.subgroupSizeControl;
        have.subgroup_size.computeFullSubgroups = control.computeFullSubgroups;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        have.v11.storageBuffer16BitAccess =
            as(VkPhysicalDevice16BitStorageFeatures()).storageBuffer16BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        have.v12.storageBuffer8BitAccess =
            as(VkPhysicalDevice8BitStorageFeatures()).storageBuffer8BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
        const auto& narrow = as(VkPhysicalDeviceShaderFloat16Int8Features());
        have.v12.shaderFloat16 = narrow.shaderFloat16;
        have.v12.shaderInt8 = narrow.shaderInt8;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES:
        have.v12.shaderSubgroupExtendedTypes =
            as(VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures()).shaderSubgroupExtendedTypes;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
        const auto& model = as(VkPhysicalDeviceVulkanMemoryModelFeatures());
        have.v12.vulkanMemoryModel = model.vulkanMemoryModel;
        have.v12.vulkanMemoryModelDeviceScope = model.vulkanMemoryModelDeviceScope;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES:
        have.v12.scalarBlockLayout =
            as(VkPhysicalDeviceScalarBlockLayoutFeatures()).scalarBlockLayout;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        have.v12.bufferDeviceAddress =
            as(VkPhysicalDeviceBufferDeviceAddressFeatures()).bufferDeviceAddress;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
        have.v12.timelineSemaphore =
            as(VkPhysicalDeviceTimelineSemaphoreFeatures()).timelineSemaphore;
        break;
      default:
        if (next->sType == CooperativeMatrixFeatures().sType)
          have.cooperative_matrix = as(CooperativeMatrixFeatures());
        else if (next->sType == CooperativeMatrix2Features().sType)
          have.cooperative_matrix2 = as(CooperativeMatrix2Features());
        else if (next->sType == Bfloat16Features().sType)
          have.bfloat16 = as(Bfloat16Features());
        break;
    }
  }
  return have;
}

Features enabled_features(const Features& have, VkShaderStageFlags matrix_stages) {
  Features use;
  use.core.features.shaderInt64 = have.core.features.shaderInt64;
  use.core.features.shaderInt16 = have.core.features.shaderInt16;
  use.core.features.shaderFloat64 = have.core.features.shaderFloat64;
  use.v11.storageBuffer16BitAccess = have.v11.storageBuffer16BitAccess;
  use.v12.storageBuffer8BitAccess = have.v12.storageBuffer8BitAccess;
  use.v12.shaderFloat16 = have.v12.shaderFloat16;
  use.v12.shaderInt8 = have.v12.shaderInt8;
  use.v12.shaderSubgroupExtendedTypes = have.v12.shaderSubgroupExtendedTypes;
  use.v12.vulkanMemoryModel = have.v12.vulkanMemoryModel;
  use.v12.vulkanMemoryModelDeviceScope = have.v12.vulkanMemoryModelDeviceScope;
  use.v12.scalarBlockLayout = have.v12.scalarBlockLayout;
  use.v12.bufferDeviceAddress = have.v12.bufferDeviceAddress;
  use.v12.timelineSemaphore = have.v12.timelineSemaphore;
  use.dot_product.shaderIntegerDotProduct = have.dot_product.shaderIntegerDotProduct;
  use.subgroup_size.subgroupSizeControl = have.subgroup_size.subgroupSizeControl;
  use.subgroup_size.computeFullSubgroups = have.subgroup_size.computeFullSubgroups;
  // Modules with cooperative matrices use Vulkan's memory model.
  if (have.cooperative_matrix.cooperativeMatrix && have.v12.vulkanMemoryModel &&
      (matrix_stages & VK_SHADER_STAGE_COMPUTE_BIT)) {
    use.cooperative_matrix.cooperativeMatrix = VK_TRUE;
    const CooperativeMatrix2Features& more = have.cooperative_matrix2;
    use.cooperative_matrix2.cooperativeMatrixConversions = more.cooperativeMatrixConversions;
    // Users' kernels load matrices of a workgroup from tensors. SPIR-V has a capability for the
    // loads alone, so that all of this is there or nothing.
    if (more.cooperativeMatrixConversions && more.cooperativeMatrixWorkgroupScope &&
        more.cooperativeMatrixFlexibleDimensions && more.cooperativeMatrixTensorAddressing)
      use.cooperative_matrix2.cooperativeMatrixWorkgroupScope =
          use.cooperative_matrix2.cooperativeMatrixFlexibleDimensions =
              use.cooperative_matrix2.cooperativeMatrixTensorAddressing = VK_TRUE;
    if (have.bfloat16.shaderBFloat16Type && have.bfloat16.shaderBFloat16CooperativeMatrix)
      use.bfloat16.shaderBFloat16Type = use.bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
  }
  return use;
}

std::set<uint32_t> capabilities_of(const Features& enabled,
                                   VkSubgroupFeatureFlags subgroup_operations,
                                   const exec::FloatControls& controls) {
  std::set<uint32_t> all = {kMatrix, kShader};
  const auto add = [&](bool is_there, uint32_t capability) {
    if (is_there) all.insert(capability);
  };
  const VkPhysicalDeviceFeatures& core = enabled.core.features;
  add(core.shaderInt16, kInt16);
  add(core.shaderInt64, kInt64);
  add(core.shaderFloat64, kFloat64);
  add(enabled.v11.storageBuffer16BitAccess, kStorageBuffer16BitAccess);
  add(enabled.v12.storageBuffer8BitAccess, kStorageBuffer8BitAccess);
  add(enabled.v12.shaderFloat16, kFloat16);
  add(enabled.v12.shaderInt8, kInt8);
  add(enabled.v12.vulkanMemoryModel, kVulkanMemoryModel);
  add(enabled.v12.vulkanMemoryModelDeviceScope, kVulkanMemoryModelDeviceScope);
  add(enabled.v12.bufferDeviceAddress, kPhysicalStorageBufferAddresses);
  add(enabled.dot_product.shaderIntegerDotProduct, kDotProductInput4x8BitPacked);
  add(enabled.dot_product.shaderIntegerDotProduct, kDotProduct);
  add(enabled.cooperative_matrix.cooperativeMatrix, kCooperativeMatrix);
  add(enabled.cooperative_matrix2.cooperativeMatrixConversions, kCooperativeMatrixConversions);
  add(enabled.cooperative_matrix2.cooperativeMatrixTensorAddressing,
      kCooperativeMatrixTensorAddressing);
  add(enabled.cooperative_matrix2.cooperativeMatrixTensorAddressing, kTensorAddressing);
  add(enabled.bfloat16.shaderBFloat16Type, kBFloat16Type);
  add(enabled.bfloat16.shaderBFloat16CooperativeMatrix, kBFloat16CooperativeMatrix);
  for (const SubgroupCapability& one : kSubgroupCapabilities)
    add(subgroup_operations & one.operation, one.capability);
  // Their widths are held against the modes that a module declares.
  add(controls.keep_denormals != 0, kDenormPreserve);
  add(controls.keep_special != 0, kSignedZeroInfNanPreserve);
  add(controls.round_to_even != 0, kRoundingModeRte);
  return all;
}

std::set<DType> matrix_types(const Features& enabled) {
  std::set<DType> types = {DType::f32, DType::i32, DType::u32};
  if (enabled.v12.shaderFloat16) types.insert(DType::f16);
  if (enabled.bfloat16.shaderBFloat16CooperativeMatrix) types.insert(DType::bf16);
  if (enabled.core.features.shaderFloat64) types.insert(DType::f64);
  if (enabled.v12.shaderInt8) types.insert({DType::i8, DType::u8});
  if (enabled.core.features.shaderInt16) types.insert({DType::i16, DType::u16});
  if (enabled.core.features.shaderInt64) types.insert({DType::i64, DType::u64});
  return types;
}

}  // namespace tcc::runtime::vulkan
