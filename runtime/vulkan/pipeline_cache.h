// The driver's cache of compiled pipelines, kept in the cache folder between processes: drivers
// take up to seconds for a kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/vulkan/functions.h"
#include "support/hash.h"

namespace tcc::runtime::vulkan {

class Core;

class PipelineCache {
 public:
  explicit PipelineCache(Core& core) : core_(core) {}
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  // Reads what is kept for this device and driver. A file that is damaged, or of another driver, is
  // left aside with a warning.
  void create();
  // Keeps what was compiled, together with what other processes kept meanwhile.
  void save();
  void destroy();

  VkPipelineCache handle() const { return cache_; }

 private:
  std::vector<uint8_t> kept() const;
  std::vector<uint8_t> data() const;
  VkPipelineCache make(std::span<const uint8_t> data) const;

  Core& core_;
  VkPhysicalDeviceProperties device_{};
  std::filesystem::path file_;  // "": there is no cache folder
  Hash128 key_;
  std::vector<uint8_t> loaded_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
};

// Whether a driver may be given these bytes: their header is that of this device and driver. Some
// drivers trust them.
bool is_pipeline_data_of(std::span<const uint8_t> data, const VkPhysicalDeviceProperties& device);

}  // namespace tcc::runtime::vulkan
