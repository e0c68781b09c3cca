// Reads the limits of a physical device as a Target, and says how a logical device on it is to be
// made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "executable/target.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/instance.h"

namespace tcc::runtime::vulkan {

struct Physical {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string device_name;
  std::string
      unusable;  // why tcc cannot use it; "" when it can, and only then is what follows complete

  // Its driver compiles for a device that is not there: it has no memory, and launches do nothing.
  bool compiles_alone = false;
  std::set<std::string> extensions;  // that it has
  Features features;                 // that tcc enables
  std::set<uint32_t> capabilities;   // of SPIR-V that these allow
  bool subgroup_size_control = false;
  uint32_t max_workgroup_subgroups = 0;  // with a required subgroup size
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;   // 0: no timestamps
  double timestamp_seconds = 0;  // of one tick
  uint32_t max_allocations = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  int64_t memory_bytes = 0;  // of the heap that buffers come from; of the host for a CPU device
  std::string pci_address;   // "0000:3b:00.0"; "" where the driver does not tell
  exec::Target target;

  bool has_extension(const char* name) const { return extensions.count(name) > 0; }
};

// A logical device that the caller has made has these.
struct Enabled {
  const VkPhysicalDeviceFeatures2* features = nullptr;
  std::set<std::string> extensions;
  uint32_t api_version = 0;  // of the instance
  uint32_t queue_family = 0;
};

// `enabled` is of the device that will be used; null: tcc makes one, with all that it knows.
Physical inspect(const Instance& instance, VkPhysicalDevice device,
                 const Enabled* enabled = nullptr);
// Returns the extensions that tcc's own device is made with.
std::vector<const char*> wanted_extensions(const Physical& physical);

// "NVIDIA H200 (NVIDIA 570.86), 139.8 GiB, subgroups of 32"
std::string describe(const Physical& physical);

}  // namespace tcc::runtime::vulkan
