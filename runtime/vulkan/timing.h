// Timestamps on the device.
#pragma once

#include <memory>
#include <vector>

#include "runtime/vulkan/core.h"

namespace tcc::runtime::vulkan {

// A pool of `count` timestamp queries. The device must have timestamps (Physical::timestamp_bits).
class Timestamps {
 public:
  Timestamps(std::shared_ptr<Core> core, uint32_t count);
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  VkQueryPool pool() const { return pool_; }
  // Records a reset of the queries, which must come before any is written.
  void record_reset(VkCommandBuffer commands) const;
  // Seconds between each timestamp and the next, once their submission has completed: count - 1
  // values.
  std::vector<double> intervals() const;

 private:
  const std::shared_ptr<Core> core_;
  const uint32_t count_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
};

}  // namespace tcc::runtime::vulkan
