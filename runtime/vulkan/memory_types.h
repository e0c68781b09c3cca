// Chooses a device's memory type for each purpose.
#pragma once

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tcc::runtime::vulkan {

enum class MemoryUse : uint8_t {
  device,    // kernels' buffers; mapped where the device's memory is the host's
  staging,   // copies between host and device: mapped, cached where possible
  argument,  // small tables that the host writes and kernels read: mapped, near the device where
             // possible
};
inline constexpr size_t kMemoryUses = 3;

// Returns the index of the best type among `allowed` (a bit per type); nothing when no type is
// usable.
std::optional<uint32_t> choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           MemoryUse use, bool unified,
                                           uint32_t allowed = UINT32_MAX);

}  // namespace tcc::runtime::vulkan
