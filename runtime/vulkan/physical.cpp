#include "runtime/vulkan/physical.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "executable/cuda_targets.h"
#include "executable/quirks.h"
#include "executable/vulkan_targets.h"
#include "runtime/vulkan/memory_types.h"
#include "runtime/vulkan/priors.h"
#include "runtime/vulkan/result.h"
#include "support/error.h"
#include "support/system.h"

namespace tcc::runtime::vulkan {
namespace {

struct Properties {
  VkPhysicalDeviceProperties2 core{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_size{};
  VkPhysicalDeviceMaintenance4Properties maintenance4{};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{};
  VkPhysicalDeviceShaderCorePropertiesAMD amd{};
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
  VkPhysicalDeviceShaderIntegerDotProductProperties dot_product{};
  CooperativeMatrixStages matrix_stages;
  const VkPhysicalDeviceLimits& limits() const { return core.properties.limits; }
};

bool is_1_3(const Properties& properties) {
  return properties.core.properties.apiVersion >= VK_API_VERSION_1_3;
}

std::set<std::string> list_extensions(const InstanceFunctions& vk, VkPhysicalDevice device) {
  constexpr const char* call = "vkEnumerateDeviceExtensionProperties";
  uint32_t count = 0;
  check(vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr), call);
  std::vector<VkExtensionProperties> list(count);
  check(vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, list.data()), call);
  std::set<std::string> names;
  for (const VkExtensionProperties& extension : list) names.insert(extension.extensionName);
  return names;
}

void query_properties(const InstanceFunctions& vk, const Physical& physical,
                      Properties& properties) {
  vk.GetPhysicalDeviceProperties(physical.handle, &properties.core.properties);
  const bool v13 = is_1_3(properties);
  properties.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  auto* last = reinterpret_cast<VkBaseOutStructure*>(&properties.core);
  last = append(last, properties.v11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  last = append(last, properties.v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  if (v13 || physical.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
    last = append(last, properties.subgroup_size,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  if (v13 || physical.has_extension(VK_KHR_MAINTENANCE_4_EXTENSION_NAME))
    last = append(last, properties.maintenance4,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  if (physical.has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    last = append(last, properties.nvidia,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  if (physical.has_extension(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME))
    last =
        append(last, properties.amd, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
  if (physical.has_extension(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
    last =
        append(last, properties.pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  if (v13 || physical.has_extension(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
    last = append(last, properties.dot_product,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
  if (physical.has_extension(kCooperativeMatrixExtension))
    append(last, properties.matrix_stages, CooperativeMatrixStages().sType);
  vk.GetPhysicalDeviceProperties2(physical.handle, &properties.core);
}

// All reasons are told: which one is easiest to mend is the user's to say.
void add_reason(Physical& physical, const std::string& reason) {
  physical.unusable += (physical.unusable.empty() ? "" : "; ") + reason;
}

void choose_features(const InstanceFunctions& vk, Physical& physical, const Properties& properties,
                     bool can_control_subgroups, const Enabled* enabled) {
  Features have;
  const bool v13 = is_1_3(properties);
  const char* dot_products = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
  if (enabled)
    have = features_of(*enabled->features);
  else
    vk.GetPhysicalDeviceFeatures2(
        physical.handle,
        have.link({.subgroup_size = can_control_subgroups,
                   .cooperative_matrix = physical.has_extension(kCooperativeMatrixExtension),
                   .cooperative_matrix2 = physical.has_extension(kCooperativeMatrix2Extension),
                   .bfloat16 = physical.has_extension(kBfloat16Extension),
                   .dot_product = v13 || physical.has_extension(dot_products)}));
  if (enabled && !enabled->extensions.contains(kCooperativeMatrixExtension))
    have.cooperative_matrix.cooperativeMatrix = VK_FALSE;
  if (enabled && !enabled->extensions.contains(kCooperativeMatrix2Extension))
    have.cooperative_matrix2.cooperativeMatrixConversions = VK_FALSE;
  if (enabled && !enabled->extensions.contains(kBfloat16Extension))
    have.bfloat16.shaderBFloat16Type = VK_FALSE;
  if (enabled && !v13 && !enabled->extensions.contains(dot_products))
    have.dot_product.shaderIntegerDotProduct = VK_FALSE;
  physical.features =
      enabled_features(have, properties.matrix_stages.cooperativeMatrixSupportedStages);
  const auto require = [&](VkBool32 is_there, const char* feature) {
    if (!is_there) add_reason(physical, str("it lacks ", feature));
  };
  require(have.v12.bufferDeviceAddress, "bufferDeviceAddress");
  require(have.v12.timelineSemaphore, "timelineSemaphore");
  require(have.v12.scalarBlockLayout, "scalarBlockLayout");
}

// The first family that computes, better one with timestamps; or the caller's.
void choose_queue_family(const InstanceFunctions& vk, Physical& physical, const Enabled* enabled) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical.handle, &count, families.data());
  bool found = false;
  for (uint32_t family = 0; family < count; ++family) {
    if (!(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (enabled && enabled->queue_family != family) continue;
    const uint32_t bits = families[family].timestampValidBits;
    if (found && (physical.timestamp_bits > 0 || bits == 0)) continue;
    physical.queue_family = family;
    physical.timestamp_bits = bits;
    found = true;
  }
  if (!found)
    add_reason(physical, enabled ? "the queue does not compute" : "it has no compute queue");
}

void fill_subgroup_sizes(Physical& physical, const Properties& properties) {
  exec::Target& target = physical.target;
  const VkPhysicalDeviceSubgroupSizeControlProperties& range = properties.subgroup_size;
  physical.subgroup_size_control =
      physical.features.subgroup_size.subgroupSizeControl &&
      (range.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  physical.max_workgroup_subgroups = range.maxComputeWorkgroupSubgroups;
  target.subgroup_size = static_cast<int>(properties.v11.subgroupSize);
  target.subgroup_size_min = target.subgroup_size_max = target.subgroup_size;
  if (!physical.subgroup_size_control) return;
  target.subgroup_size_min = static_cast<int>(range.minSubgroupSize);
  target.subgroup_size_max = static_cast<int>(range.maxSubgroupSize);
}

// vkAllocateMemory's and vkCreateBuffer's limits and the heap's size.
int64_t largest_buffer(const Properties& properties, int64_t heap_bytes) {
  uint64_t bytes = std::min<uint64_t>(properties.v11.maxMemoryAllocationSize, INT64_MAX);
  if (properties.maintenance4.maxBufferSize > 0)
    bytes = std::min<uint64_t>(bytes, properties.maintenance4.maxBufferSize);
  return std::min(static_cast<int64_t>(bytes), heap_bytes);
}

std::string pci_address(const VkPhysicalDevicePCIBusInfoPropertiesEXT& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
                pci.pciFunction);
  return text;
}

void fill_memory(const InstanceFunctions& vk, Physical& physical, const Properties& properties) {
  vk.GetPhysicalDeviceMemoryProperties(physical.handle, &physical.memory);
  exec::Target& target = physical.target;
  const VkPhysicalDeviceType type = properties.core.properties.deviceType;
  if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) exec::set_software(target);
  target.unified_memory = target.is_cpu || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  const auto index = choose_memory_type(physical.memory, MemoryUse::device, target.unified_memory);
  if (!index) {
    physical.compiles_alone =
        physical.has_extension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (!physical.compiles_alone) add_reason(physical, "it has no device memory");
    target.max_buffer_bytes = largest_buffer(properties, std::numeric_limits<int64_t>::max());
    return;
  }
  const VkMemoryType chosen = physical.memory.memoryTypes[*index];
  const auto heap_bytes = static_cast<int64_t>(physical.memory.memoryHeaps[chosen.heapIndex].size);
  // lavapipe's heap is a made-up number; its memory is the host's.
  physical.memory_bytes = target.is_cpu ? system::memory_bytes() : heap_bytes;
  target.max_buffer_bytes = largest_buffer(properties, heap_bytes);
}

std::string vendor_name(uint32_t id) {
  switch (id) {
    case 0x1002: return "amd";
    case 0x10DE: return "nvidia";
    case 0x8086: return "intel";
    case 0x13B5: return "arm";
    case 0x5143: return "qualcomm";
    case 0x106B: return "apple";
    case 0x1010: return "imagination";
    case 0x144D: return "samsung";
    case 0x14E4: return "broadcom";
    case 0x1AE0: return "google";
    case VK_VENDOR_ID_MESA: return "mesa";
    default: break;
  }
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", id);
  return text;
}

void fill_names(exec::Target& target, const Properties& properties) {
  exec::set_vulkan_facts(target);
  target.vendor = vendor_name(properties.core.properties.vendorID);
  target.device = properties.core.properties.deviceName;
  if (target.vendor == "amd") target.load_registers = exec::kAmdLoadRegisters;
  const bool is_llvmpipe = properties.v12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  target.arch = is_llvmpipe ? "llvmpipe" : target.vendor;
  // LP_MAX_TGSI_LOOP_ITERATIONS: llvmpipe counts the iterations of an invocation and leaves its
  // loops when they are used up. Vulkan has no limit that tells.
  if (is_llvmpipe) target.max_loop_iterations = 65535;
  target.driver = properties.v12.driverName;
  if (*properties.v12.driverInfo) target.driver += str(" ", properties.v12.driverInfo);
}

int width_set(VkBool32 has16, VkBool32 has32, VkBool32 has64) {
  return (has16 ? 16 : 0) | (has32 ? 32 : 0) | (has64 ? 64 : 0);
}

// Gives those `widths` whose mode may be set: a device may want the same mode for several.
int settable(int widths, VkShaderFloatControlsIndependence independence) {
  constexpr int others = 16 | 64;
  switch (independence) {
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL: return widths;
    case VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY:
      return (widths & others) == others ? widths : widths & 32;
    default: return widths == (others | 32) ? widths : 0;
  }
}

void fill_float_controls(exec::FloatControls& controls,
                         const VkPhysicalDeviceVulkan12Properties& v12) {
  controls.keep_special = width_set(v12.shaderSignedZeroInfNanPreserveFloat16,
                                    v12.shaderSignedZeroInfNanPreserveFloat32,
                                    v12.shaderSignedZeroInfNanPreserveFloat64);
  controls.keep_denormals =
      settable(width_set(v12.shaderDenormPreserveFloat16, v12.shaderDenormPreserveFloat32,
                         v12.shaderDenormPreserveFloat64),
               v12.denormBehaviorIndependence);
  controls.round_to_even =
      settable(width_set(v12.shaderRoundingModeRTEFloat16, v12.shaderRoundingModeRTEFloat32,
                         v12.shaderRoundingModeRTEFloat64),
               v12.roundingModeIndependence);
}

void fill_limits(Physical& physical, const Properties& properties) {
  exec::Target& target = physical.target;
  const VkPhysicalDeviceLimits& limits = properties.limits();
  target.max_workgroup_size = static_cast<int>(
      std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]));
  if (physical.subgroup_size_control && target.subgroup_size_min != target.subgroup_size_max)
    target.max_workgroup_size = static_cast<int>(  // of AMD's drivers there may be 2^32 - 1
        std::min<int64_t>(target.max_workgroup_size,
                          int64_t{physical.max_workgroup_subgroups} * target.subgroup_size));
  for (int i = 0; i < 3; ++i) target.max_grid[i] = limits.maxComputeWorkGroupCount[i];
  target.shared_bytes = limits.maxComputeSharedMemorySize;
  target.push_constant_bytes = limits.maxPushConstantsSize;
  physical.max_allocations = limits.maxMemoryAllocationCount;
  physical.timestamp_seconds = limits.timestampPeriod * 1e-9;
  if (limits.timestampPeriod == 0) physical.timestamp_bits = 0;

  const Features& features = physical.features;
  target.storage16 = features.v11.storageBuffer16BitAccess && features.core.features.shaderInt16;
  target.storage8 = features.v12.storageBuffer8BitAccess && features.v12.shaderInt8;
  target.int64 = features.core.features.shaderInt64;
  target.float64 = features.core.features.shaderFloat64;
  // Signs that differ may be slower than these: contraction.comp.
  target.byte_products = features.dot_product.shaderIntegerDotProduct &&
                         properties.dot_product.integerDotProduct4x8BitPackedSignedAccelerated &&
                         properties.dot_product.integerDotProduct4x8BitPackedUnsignedAccelerated;
  // ex2.approx, which PTX documents with 2^-22.5, and cvt.rn.f16.f32.
  target.native_exp2 = target.native_f16 =
      properties.v12.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  fill_float_controls(target.float_controls, properties.v12);
  const VkSubgroupFeatureFlags operations =
      properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT
          ? properties.v11.subgroupSupportedOperations
          : 0;
  target.subgroup_shuffle = (operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  physical.capabilities = capabilities_of(features, operations, target.float_controls);
}

DeviceClass class_of(VkPhysicalDeviceType type) {
  if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) return DeviceClass::cpu;
  return type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? DeviceClass::integrated
                                                        : DeviceClass::discrete;
}

// 0 where the driver does not tell.
int count_compute_units(const Properties& properties) {
  const auto& amd = properties.amd;
  const uint32_t units =
      amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  return static_cast<int>(std::max(properties.nvidia.shaderSMCount, units));
}

}  // namespace

std::vector<const char*> wanted_extensions(const Physical& physical) {
  std::vector<const char*> extensions;
  for (const char* extension :
       {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, "VK_KHR_portability_subset",
        VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME})
    if (physical.has_extension(extension)) extensions.push_back(extension);
  if (physical.features.dot_product.shaderIntegerDotProduct &&
      physical.has_extension(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
    extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (physical.features.cooperative_matrix.cooperativeMatrix)
    extensions.push_back(kCooperativeMatrixExtension);
  if (physical.features.cooperative_matrix2.cooperativeMatrixConversions)
    extensions.push_back(kCooperativeMatrix2Extension);
  if (physical.features.bfloat16.shaderBFloat16Type) extensions.push_back(kBfloat16Extension);
  return extensions;
}

Physical inspect(const Instance& instance, VkPhysicalDevice device, const Enabled* enabled) {
  const InstanceFunctions& vk = instance.vk;
  Physical physical;
  physical.handle = device;
  VkPhysicalDeviceProperties basic;
  vk.GetPhysicalDeviceProperties(device, &basic);
  physical.device_name = basic.deviceName;
  if (enabled) basic.apiVersion = std::min(basic.apiVersion, enabled->api_version);
  if (basic.apiVersion < VK_API_VERSION_1_2) {
    physical.unusable = str(enabled ? "its instance allows" : "it supports", " Vulkan ",
                            VK_API_VERSION_MAJOR(basic.apiVersion), ".",
                            VK_API_VERSION_MINOR(basic.apiVersion), "; 1.2 is needed");
    return physical;
  }
  physical.extensions = list_extensions(vk, device);
  Properties properties;
  query_properties(vk, physical, properties);
  properties.core.properties.apiVersion = basic.apiVersion;
  const bool can_control_subgroups =
      is_1_3(properties) || physical.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  choose_features(vk, physical, properties, can_control_subgroups, enabled);
  choose_queue_family(vk, physical, enabled);
  fill_names(physical.target, properties);
  fill_subgroup_sizes(physical, properties);
  fill_limits(physical, properties);
  fill_memory(vk, physical, properties);
  physical.target.spirv_minor = is_1_3(properties) ? 6 : 5;
  // A software device emulates its units, more slowly than it multiplies. Tests ask for them by
  // name.
  const bool uses_units = !physical.target.is_cpu || std::getenv("TCC_MATRIX_UNITS") != nullptr;
  if (physical.features.cooperative_matrix.cooperativeMatrix && uses_units)
    physical.target.matrix_units = exec::allowed_matrix_units(query_matrix_units(
        device, vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR, matrix_types(physical.features),
        physical.target.vendor == "nvidia" ? exec::kNvidiaExactSum : 0));
  physical.target.matrix_conversions =
      !physical.target.matrix_units.empty() && physical.target.spirv_minor >= 6 &&
      physical.features.cooperative_matrix2.cooperativeMatrixConversions != VK_FALSE;
  if (physical.has_extension(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
    physical.pci_address = pci_address(properties.pci);
  guess_throughput(physical.target, class_of(basic.deviceType), count_compute_units(properties));
  exec::apply_quirks(physical.target);
  return physical;
}

std::string describe(const Physical& physical) {
  const exec::Target& target = physical.target;
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB",
                static_cast<double>(physical.memory_bytes) / (1 << 30));
  return str(target.device, " (", target.driver, "), ", memory, ", subgroups of ",
             target.subgroup_size);
}

}  // namespace tcc::runtime::vulkan
