// The objects of one Vulkan device share this logical device: functions, queue, timeline.
//
// All work goes through one queue and signals one timeline semaphore: submission N signals N, and a
// wait for N is a wait for everything submitted up to it. Buffers, kernels, streams and recordings
// hold the core alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "runtime/vulkan/heap.h"
#include "runtime/vulkan/physical.h"
#include "runtime/vulkan/pipeline_cache.h"

namespace tcc::runtime::vulkan {

// A device of the caller's, which outlives the core.
struct Adopted {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;  // of enabled.queue_family
  Enabled enabled;
  PFN_vkGetInstanceProcAddr get = nullptr;
  std::function<void()> lock_queue, unlock_queue;  // "": nobody else uses the queue meanwhile
};

// A value of a timeline semaphore of the caller's; none: nothing.
struct SemaphoreAt {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
};

class Core {
 public:
  // Throws Error(no_device) when there is no device `ordinal` or it cannot be used.
  explicit Core(int ordinal);
  // Uses a device of the caller's. Throws Error(bad_input) when it lacks what tcc needs.
  Core(std::string name, Adopted adopted);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const std::string& name() const { return name_; }
  const Physical& physical() const { return physical_; }
  const DeviceFunctions& vk() const { return vk_; }
  const InstanceFunctions& instance_functions() const { return instance_->vk; }
  VkDevice device() const { return device_; }
  VkPipelineCache pipeline_cache() const { return pipelines_.handle(); }

  // Adds what running kernels told of the device's units, less what quirk files say. Before the
  // device is shared.
  void add_matrix_units(std::vector<exec::MatrixUnit> units);

  // Throws Error(device) unless the call succeeded, and remembers a lost device.
  void check(VkResult result, const char* call);
  // Throws Error(device) once the device was lost or has timed out.
  void require_alive() const;

  // Thread-safe. Returns the submission's number. What is submitted from now on waits for `wait`;
  // `signal` follows all that was.
  uint64_t submit(std::span<const VkCommandBuffer> commands, SemaphoreAt wait = {},
                  SemaphoreAt signal = {});
  // Waits for a submission; throws Error(device) after TCC_DEVICE_TIMEOUT seconds.
  void wait(uint64_t submission);
  // Submits commands that run nothing, and waits until the driver is done with them, however long
  // it takes to compile.
  void compile(VkCommandBuffer commands);
  // Waits for all that was submitted, so that an object may be destroyed. False when the device
  // hangs: then it must not be, because the device may still use it.
  bool retire() noexcept;

  Heap& heap() { return heap_; }
  const Heap& heap() const { return heap_; }

 private:
  enum class State { alive, lost, hung };

  void create_device();
  void create_timeline();
  void destroy();
  VkResult wait_for(uint64_t submission, double seconds);
  void note_completed(uint64_t submission);

  const std::string name_;
  const std::shared_ptr<const Instance> instance_;
  const Adopted adopted_ = {};  // no device: tcc's own
  Physical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions vk_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  const double timeout_seconds_;

  std::atomic<State> state_ = State::alive;
  std::atomic<uint64_t> submitted_ = 0;  // changes under queue_mutex_
  std::atomic<uint64_t> completed_ = 0;  // known to be; a lower bound
  std::mutex queue_mutex_;
  Heap heap_{*this};
  PipelineCache pipelines_{*this};
};

}  // namespace tcc::runtime::vulkan
