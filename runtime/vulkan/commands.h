// Recording into command buffers: launches with their arguments, barriers, timestamps.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/vulkan/kernel.h"
#include "runtime/vulkan/memory.h"

namespace tcc::runtime::vulkan {

// A command pool, for one thread at a time; its command buffers go with it.
class CommandPool {
 public:
  explicit CommandPool(std::shared_ptr<Core> core);
  ~CommandPool();
  CommandPool(const CommandPool&) = delete;
  CommandPool& operator=(const CommandPool&) = delete;
  VkCommandBuffer allocate();

 private:
  const std::shared_ptr<Core> core_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
};

// A command buffer's frame: what is recorded between begin() and end() sees everything that was
// submitted before. Where the device's memory is the host's, the host sees its writes once it has
// completed.
void begin_commands(Core& core, VkCommandBuffer commands, VkCommandBufferUsageFlags usage);
void end_commands(Core& core, VkCommandBuffer commands);
// The host sees the writes of what was recorded so far. Drivers of discrete GPUs wait for the bus
// here, so that only copies to memory that the host reads end so.
void add_host_barrier(const Core& core, VkCommandBuffer commands);
// Later launches and copies see the writes of earlier ones.
void add_barrier(const Core& core, VkCommandBuffer commands);

// TCC_CHECKs that each launch has a kernel of ours and its number of arguments. Throws
// Error(device) for a grid beyond the device's limits.
void check_steps(const Core& core, std::span<const BoundStep> steps);
// Returns the bytes that the argument tables of `steps` take; 0 when no kernel has one.
int64_t argument_table_bytes(std::span<const BoundStep> steps);

// Timestamps: query `first` is written before the first step, and one more after each.
struct StepTimestamps {
  VkQueryPool pool;
  uint32_t first;
};
// Records the steps, each of which sees the writes of the ones before it. `tables`, mapped and
// of at least argument_table_bytes(steps), is filled; null when that is 0.
void record_steps(const Core& core, VkCommandBuffer commands, std::span<const BoundStep> steps,
                  const Memory* tables, std::optional<StepTimestamps> timestamps = {});

// Records the steps into a command buffer of the caller's, between barriers with everything before
// and after them. The argument tables that are returned must live as long as the commands; null:
// there are none.
std::unique_ptr<Memory> record_into(const std::shared_ptr<Core>& core, VkCommandBuffer commands,
                                    std::span<const BoundStep> steps);

class VulkanRecording final : public Recording {
 public:
  VulkanRecording(std::shared_ptr<Core> core, std::span<const BoundStep> steps);
  ~VulkanRecording() override;
  VkCommandBuffer commands() const { return commands_; }

 private:
  const std::shared_ptr<Core> core_;
  CommandPool pool_;
  std::unique_ptr<Memory> tables_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace tcc::runtime::vulkan
