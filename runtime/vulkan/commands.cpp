#include "runtime/vulkan/commands.h"

#include <cstring>

#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr VkPipelineStageFlags kWorkStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWorkWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kWorkAccess =
    kWorkWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

struct Scope {
  VkPipelineStageFlags stages;
  VkAccessFlags access;
};

void barrier(const Core& core, VkCommandBuffer commands, Scope before, Scope after) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = before.access;
  memory.dstAccessMask = after.access;
  core.vk().CmdPipelineBarrier(commands, before.stages, after.stages, 0, 1, &memory, 0, nullptr, 0,
                               nullptr);
}

const VulkanKernel& kernel_of(const BoundLaunch& launch) {
  const auto* kernel = dynamic_cast<const VulkanKernel*>(launch.kernel);
  TCC_CHECK(kernel, "a launch without a kernel of this device");
  return *kernel;
}

// Writes argument tables one behind the other.
class TableWriter {
 public:
  explicit TableWriter(const Memory* memory) : memory_(memory) {}
  // The device address of a table of these arguments.
  DeviceAddress add(const std::vector<uint64_t>& arguments) {
    const int64_t offset = used_;
    used_ += static_cast<int64_t>(arguments.size() * sizeof(uint64_t));
    TCC_CHECK(memory_ && used_ <= memory_->bytes(), "argument tables of ", used_, " bytes");
    std::memcpy(memory_->mapped() + offset, arguments.data(), arguments.size() * sizeof(uint64_t));
    return memory_->address() + static_cast<DeviceAddress>(offset);
  }

 private:
  const Memory* memory_;
  int64_t used_ = 0;
};

// Records one step of any kind.
struct StepRecorder {
  const Core& core;
  VkCommandBuffer commands;
  TableWriter& tables;

  void operator()(const BoundCopy& copy) const {
    if (copy.bytes == 0) return;
    const Heap::Range to = core.heap().range_of(copy.to, copy.bytes),
                      from = core.heap().range_of(copy.from, copy.bytes);
    const VkBufferCopy region{from.offset, to.offset, static_cast<VkDeviceSize>(copy.bytes)};
    core.vk().CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
  }

  void operator()(const BoundFill& fill) const {
    if (fill.bytes == 0) return;
    const Heap::Range to = core.heap().range_of(fill.to, fill.bytes);
    core.vk().CmdFillBuffer(commands, to.buffer, to.offset, static_cast<VkDeviceSize>(fill.bytes),
                            fill.value * 0x01010101u);
  }

  void operator()(const BoundLaunch& launch) const {
    const DeviceFunctions& vk = core.vk();
    const VulkanKernel& kernel = kernel_of(launch);
    if (is_empty(launch.grid)) return;
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
    if (kernel.argument_table()) {
      const DeviceAddress table = tables.add(launch.arguments);
      vk.CmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof table,
                          &table);
    } else if (!launch.arguments.empty()) {
      vk.CmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<uint32_t>(launch.arguments.size() * sizeof(uint64_t)),
                          launch.arguments.data());
    }
    vk.CmdDispatch(commands, launch.grid[0], launch.grid[1], launch.grid[2]);
  }
};

}  // namespace

CommandPool::CommandPool(std::shared_ptr<Core> core) : core_(std::move(core)) {
  core_->require_alive();
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = core_->physical().queue_family;
  core_->check(core_->vk().CreateCommandPool(core_->device(), &info, nullptr, &pool_),
               "vkCreateCommandPool");
}

CommandPool::~CommandPool() {
  if (core_->retire()) core_->vk().DestroyCommandPool(core_->device(), pool_, nullptr);
}

VkCommandBuffer CommandPool::allocate() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  core_->check(core_->vk().AllocateCommandBuffers(core_->device(), &info, &commands),
               "vkAllocateCommandBuffers");
  return commands;
}

void begin_commands(Core& core, VkCommandBuffer commands, VkCommandBufferUsageFlags usage) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = usage;
  core.check(core.vk().BeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
  barrier(core, commands, {kWorkStages, kWorkWrites}, {kWorkStages, kWorkAccess});
}

void add_host_barrier(const Core& core, VkCommandBuffer commands) {
  barrier(core, commands, {kWorkStages, kWorkWrites},
          {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
}

void end_commands(Core& core, VkCommandBuffer commands) {
  if (core.physical().target.unified_memory) add_host_barrier(core, commands);
  core.check(core.vk().EndCommandBuffer(commands), "vkEndCommandBuffer");
}

void add_barrier(const Core& core, VkCommandBuffer commands) {
  barrier(core, commands, {kWorkStages, kWorkWrites}, {kWorkStages, kWorkAccess});
}

void check_steps(const Core& core, std::span<const BoundStep> steps) {
  const exec::Target& target = core.physical().target;
  for (const BoundStep& step : steps) {
    if (const auto* launch = std::get_if<BoundLaunch>(&step)) {
      const VulkanKernel& kernel = kernel_of(*launch);
      TCC_CHECK(static_cast<int>(launch->arguments.size()) == kernel.num_arguments(),
                launch->arguments.size(), " arguments for a kernel of ", kernel.num_arguments());
      check_grid(target.max_grid, core.name(), kernel.label(), launch->grid);
    } else {
      check_words(step);
    }
  }
}

int64_t argument_table_bytes(std::span<const BoundStep> steps) {
  size_t arguments = 0;
  for (const BoundStep& step : steps)
    if (const auto* launch = std::get_if<BoundLaunch>(&step))
      if (kernel_of(*launch).argument_table()) arguments += launch->arguments.size();
  return static_cast<int64_t>(arguments * sizeof(uint64_t));
}

void record_steps(const Core& core, VkCommandBuffer commands, std::span<const BoundStep> steps,
                  const Memory* tables, std::optional<StepTimestamps> timestamps) {
  TableWriter writer(tables);
  const StepRecorder record{core, commands, writer};
  const auto stamp = [&](uint32_t index) {
    if (timestamps)
      core.vk().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps->pool,
                                  timestamps->first + index);
  };
  stamp(0);
  uint32_t index = 0;
  for (const BoundStep& step : steps) {
    if (index > 0) add_barrier(core, commands);
    std::visit(record, step);
    stamp(++index);
  }
}

std::unique_ptr<Memory> record_into(const std::shared_ptr<Core>& core, VkCommandBuffer commands,
                                    std::span<const BoundStep> steps) {
  check_steps(*core, steps);
  std::unique_ptr<Memory> tables;
  if (const int64_t bytes = argument_table_bytes(steps); bytes > 0)
    tables = std::make_unique<Memory>(core, MemoryUse::argument, bytes);
  constexpr Scope everything = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  barrier(*core, commands, everything, {kWorkStages, kWorkAccess});
  record_steps(*core, commands, steps, tables.get());
  barrier(*core, commands, {kWorkStages, kWorkWrites}, everything);
  return tables;
}

VulkanRecording::VulkanRecording(std::shared_ptr<Core> core, std::span<const BoundStep> steps)
    : core_(std::move(core)), pool_(core_) {
  check_steps(*core_, steps);
  if (const int64_t bytes = argument_table_bytes(steps); bytes > 0)
    tables_ = std::make_unique<Memory>(core_, MemoryUse::argument, bytes);
  commands_ = pool_.allocate();
  begin_commands(*core_, commands_, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  record_steps(*core_, commands_, steps, tables_.get());
  end_commands(*core_, commands_);
}

// Its members wait for what was submitted.
VulkanRecording::~VulkanRecording() = default;

}  // namespace tcc::runtime::vulkan
