// The objects of one Vulkan device share this logical device: functions, queue, timeline.
//
// All work goes through one queue and signals one timeline semaphore: submission N signals N, and a
// wait for N is a wait for everything submitted up to it. Buffers, kernels, streams and recordings
// hold the core alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "runtime/device.h"
#include "runtime/vulkan/physical.h"

namespace tcc::runtime::vulkan {

class Core {
 public:
  // Throws Error(no_device) when there is no device `ordinal` or it cannot be used.
  explicit Core(int ordinal);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const std::string& name() const { return name_; }
  const Physical& physical() const { return physical_; }
  const DeviceFunctions& vk() const { return vk_; }
  VkDevice device() const { return device_; }
  VkPipelineCache pipeline_cache() const { return pipeline_cache_; }

  // Throws Error(device) unless the call succeeded, and remembers a lost device.
  void check(VkResult result, const char* call);
  // Throws Error(device) once the device was lost or has timed out.
  void require_alive() const;

  // Thread-safe. Returns the submission's number.
  uint64_t submit(std::span<const VkCommandBuffer> commands);
  // Waits for a submission; throws Error(device) after TCC_DEVICE_TIMEOUT seconds.
  void wait(uint64_t submission);
  // Submits commands that run nothing, and waits until the driver is done with them, however long
  // it takes to compile.
  void compile(VkCommandBuffer commands);
  // Waits for all that was submitted, so that an object may be destroyed. False when the device
  // hangs: then it must not be, because the device may still use it.
  bool retire() noexcept;

  // Counts allocations against the device's limits; throws Error(device) beyond them.
  void reserve(int64_t bytes);
  void release(int64_t bytes);
  int64_t reserved_bytes() const;

  // Commands that want a buffer need this place of memory that kernels know by its address.
  struct Place {
    VkBuffer buffer;
    VkDeviceSize offset;
  };
  void add_buffer(DeviceAddress address, int64_t bytes, VkBuffer buffer);
  void remove_buffer(DeviceAddress address);
  // TCC_CHECKs that one buffer holds `bytes` bytes from `address` on.
  Place place_of(DeviceAddress address, int64_t bytes) const;

 private:
  struct AddressedBuffer {
    int64_t bytes;
    VkBuffer buffer;
  };

  enum class State { alive, lost, hung };

  void create_device();
  void create_timeline();
  void destroy();
  VkResult wait_for(uint64_t submission, double seconds);
  void note_completed(uint64_t submission);

  const std::string name_;
  Physical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions vk_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkPipelineCache pipeline_cache_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  const double timeout_seconds_;

  std::atomic<State> state_ = State::alive;
  std::atomic<uint64_t> submitted_ = 0;  // changes under queue_mutex_
  std::atomic<uint64_t> completed_ = 0;  // known to be; a lower bound
  std::mutex queue_mutex_;
  mutable std::mutex memory_mutex_;  // of those below
  int64_t reserved_bytes_ = 0;
  uint32_t allocations_ = 0;
  std::map<DeviceAddress, AddressedBuffer> buffers_;
};

}  // namespace tcc::runtime::vulkan
