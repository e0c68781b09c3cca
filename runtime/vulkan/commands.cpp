#include "runtime/vulkan/commands.h"

#include <cstring>

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

bool is_empty(const std::array<uint32_t, 3>& grid) {
  return grid[0] == 0 || grid[1] == 0 || grid[2] == 0;
}

// Writes argument tables one behind the other.
class TableWriter {
 public:
  explicit TableWriter(const Memory* memory) : memory_(memory) {}
  // The device address of a table of these arguments.
  DeviceAddress add(const std::vector<DeviceAddress>& arguments) {
    const int64_t offset = used_;
    used_ += static_cast<int64_t>(arguments.size() * sizeof(DeviceAddress));
    TCC_CHECK(memory_ && used_ <= memory_->bytes(), "argument tables of ", used_, " bytes");
    std::memcpy(memory_->mapped() + offset, arguments.data(),
                arguments.size() * sizeof(DeviceAddress));
    return memory_->address() + static_cast<DeviceAddress>(offset);
  }

 private:
  const Memory* memory_;
  int64_t used_ = 0;
};

void record_copy(const Core& core, VkCommandBuffer commands, const BoundLaunch& launch) {
  if (launch.bytes == 0) return;
  const Core::Place to = core.place_of(launch.arguments[0], launch.bytes),
                    from = core.place_of(launch.arguments[1], launch.bytes);
  const VkBufferCopy region{from.offset, to.offset, static_cast<VkDeviceSize>(launch.bytes)};
  core.vk().CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
}

void record_launch(const Core& core, VkCommandBuffer commands, const BoundLaunch& launch,
                   TableWriter& tables) {
  if (is_copy(launch)) return record_copy(core, commands, launch);
  const DeviceFunctions& vk = core.vk();
  const VulkanKernel& kernel = kernel_of(launch);
  if (is_empty(kernel.grid())) return;
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
  if (kernel.argument_table()) {
    const DeviceAddress table = tables.add(launch.arguments);
    vk.CmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof table,
                        &table);
  } else if (!launch.arguments.empty()) {
    vk.CmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<uint32_t>(launch.arguments.size() * sizeof(DeviceAddress)),
                        launch.arguments.data());
  }
  vk.CmdDispatch(commands, kernel.grid()[0], kernel.grid()[1], kernel.grid()[2]);
}

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
  barrier(core, commands, {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT},
          {kWorkStages, kWorkAccess});
}

void end_commands(Core& core, VkCommandBuffer commands) {
  barrier(core, commands, {kWorkStages, kWorkWrites},
          {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
  core.check(core.vk().EndCommandBuffer(commands), "vkEndCommandBuffer");
}

void add_barrier(const Core& core, VkCommandBuffer commands) {
  barrier(core, commands, {kWorkStages, kWorkWrites}, {kWorkStages, kWorkAccess});
}

void check_launches(std::span<const BoundLaunch> launches) {
  for (const BoundLaunch& launch : launches)
    TCC_CHECK(is_copy(launch) ||
                  static_cast<int>(launch.arguments.size()) == kernel_of(launch).num_arguments(),
              launch.arguments.size(), " arguments for a kernel of ",
              kernel_of(launch).num_arguments());
}

int64_t argument_table_bytes(std::span<const BoundLaunch> launches) {
  size_t addresses = 0;
  for (const BoundLaunch& launch : launches)
    if (!is_copy(launch) && kernel_of(launch).argument_table())
      addresses += launch.arguments.size();
  return static_cast<int64_t>(addresses * sizeof(DeviceAddress));
}

void record_launches(const Core& core, VkCommandBuffer commands,
                     std::span<const BoundLaunch> launches, const Memory* tables,
                     std::optional<LaunchTimestamps> timestamps) {
  TableWriter writer(tables);
  const auto stamp = [&](uint32_t index) {
    if (timestamps)
      core.vk().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps->pool,
                                  timestamps->first + index);
  };
  stamp(0);
  uint32_t index = 0;
  for (const BoundLaunch& launch : launches) {
    if (index > 0) add_barrier(core, commands);
    record_launch(core, commands, launch, writer);
    stamp(++index);
  }
}

VulkanRecording::VulkanRecording(std::shared_ptr<Core> core, std::span<const BoundLaunch> launches)
    : core_(std::move(core)), pool_(core_) {
  check_launches(launches);
  if (const int64_t bytes = argument_table_bytes(launches); bytes > 0)
    tables_ = std::make_unique<Memory>(core_, MemoryUse::argument, bytes);
  commands_ = pool_.allocate();
  begin_commands(*core_, commands_, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  record_launches(*core_, commands_, launches, tables_.get());
  end_commands(*core_, commands_);
}

// Its members wait for what was submitted.
VulkanRecording::~VulkanRecording() = default;

}  // namespace tcc::runtime::vulkan
