#include "runtime/vulkan/memory_types.h"

#include <array>

namespace tcc::runtime::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
// Needs a feature that tcc does not enable.
constexpr VkMemoryPropertyFlags kNever =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

// Lists what is needed, best first; the last one must do.
using Wishes = std::array<VkMemoryPropertyFlags, 3>;

Wishes wishes(MemoryUse use, bool unified) {
  switch (use) {
    case MemoryUse::device:
      if (unified) return {kLocal | kMapped | kCached, kLocal | kMapped, kMapped};
      return {kLocal, kLocal, kLocal};
    case MemoryUse::staging: return {kMapped | kCached, kMapped, kMapped};
    case MemoryUse::argument: return {kLocal | kMapped, kMapped, kMapped};
  }
  return {};
}

}  // namespace

std::optional<uint32_t> choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                           MemoryUse use, bool unified, uint32_t allowed) {
  for (const VkMemoryPropertyFlags wish : wishes(use, unified)) {
    for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
      const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags;
      if ((allowed >> type & 1) && (flags & wish) == wish && (flags & kNever) == 0) return type;
    }
  }
  return std::nullopt;
}

}  // namespace tcc::runtime::vulkan
