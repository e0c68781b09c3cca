#include "runtime/vulkan/timing.h"

#include <algorithm>
#include <chrono>

#include "runtime/vulkan/stream.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Timestamps::Timestamps(std::shared_ptr<Core> core, uint32_t count)
    : core_(std::move(core)), count_(count) {
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count;
  core_->check(core_->vk().CreateQueryPool(core_->device(), &info, nullptr, &pool_),
               "vkCreateQueryPool");
}

Timestamps::~Timestamps() {
  if (core_->retire()) core_->vk().DestroyQueryPool(core_->device(), pool_, nullptr);
}

void Timestamps::record_reset(VkCommandBuffer commands) const {
  core_->vk().CmdResetQueryPool(commands, pool_, 0, count_);
}

std::vector<double> Timestamps::intervals() const {
  std::vector<uint64_t> ticks(count_);
  const VkResult result = core_->vk().GetQueryPoolResults(
      core_->device(), pool_, 0, count_, count_ * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  core_->check(result, "vkGetQueryPoolResults");
  const Physical& physical = core_->physical();
  // The counter wraps around at its width; a difference below that width stays right.
  const uint64_t mask =
      physical.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << physical.timestamp_bits) - 1;
  std::vector<double> seconds;
  for (uint32_t i = 1; i < count_; ++i)
    seconds.push_back(static_cast<double>((ticks[i] - ticks[i - 1]) & mask) *
                      physical.timestamp_seconds);
  return seconds;
}

std::vector<double> VulkanStream::time_each(std::span<const BoundStep> steps) {
  check_steps(*core_, steps);
  if (core_->physical().timestamp_bits == 0) return time_with_host_clock(steps);
  // Bounded, so that one submission does not run for too long on a display's GPU.
  constexpr size_t kMost = 256;
  std::vector<double> seconds;
  while (!steps.empty()) {
    const auto some = steps.first(std::min(kMost, steps.size()));
    const Timestamps timestamps(core_, static_cast<uint32_t>(some.size() + 1));
    submit(argument_table_bytes(some), [&](const Batch& batch) {
      timestamps.record_reset(batch.commands);
      record_steps(*core_, batch.commands, some, batch.arguments.get(),
                   StepTimestamps{timestamps.pool(), 0});
    });
    synchronize();
    const std::vector<double> more = timestamps.intervals();
    seconds.insert(seconds.end(), more.begin(), more.end());
    steps = steps.subspan(some.size());
  }
  return seconds;
}

std::vector<double> VulkanStream::time_with_host_clock(std::span<const BoundStep> steps) {
  std::vector<double> seconds;
  for (const BoundStep& step : steps) {
    synchronize();
    const double start = host_seconds();
    run({&step, 1});
    synchronize();
    seconds.push_back(host_seconds() - start);
  }
  return seconds;
}

double VulkanStream::time(const Recording& recording, int repeat) {
  TCC_CHECK(repeat > 0, repeat, " repetitions");
  const auto* ours = dynamic_cast<const VulkanRecording*>(&recording);
  TCC_CHECK(ours, "a recording of another device");
  synchronize();
  std::vector<VkCommandBuffer> commands(static_cast<size_t>(repeat), ours->commands());
  if (core_->physical().timestamp_bits == 0) {
    const double start = host_seconds();
    last_ = core_->submit(commands);
    synchronize();
    return (host_seconds() - start) / repeat;
  }
  const Timestamps timestamps(core_, 2);
  const auto stamp = [&](uint32_t index) -> Batch& {
    return record(0, [&](const Batch& batch) {
      if (index == 0) timestamps.record_reset(batch.commands);
      core_->vk().CmdWriteTimestamp(batch.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                    timestamps.pool(), index);
    });
  };
  // One submission: between two, the device waits for the host.
  Batch& before = stamp(0);
  Batch& after = stamp(1);
  commands.insert(commands.begin(), before.commands);
  commands.push_back(after.commands);
  last_ = before.submission = after.submission = core_->submit(commands);
  synchronize();
  return timestamps.intervals()[0] / repeat;
}

}  // namespace tcc::runtime::vulkan
