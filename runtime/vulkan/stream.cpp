#include "runtime/vulkan/stream.h"

#include <algorithm>
#include <cstring>

#include "runtime/device_checks.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr int64_t kStageBytes = int64_t{16} << 20;
constexpr int64_t kFillUnit = 4;  // vkCmdFillBuffer writes whole words

const Memory& memory_of(const Buffer& buffer) {
  const auto* ours = dynamic_cast<const VulkanBuffer*>(&buffer);
  TCC_CHECK(ours, "a buffer of another device");
  return ours->memory();
}

void record_copy(const Core& core, VkCommandBuffer commands, const Memory& from,
                 int64_t from_offset, const Memory& to, int64_t to_offset, int64_t bytes) {
  if (bytes == 0) return;
  const VkBufferCopy region{static_cast<VkDeviceSize>(from.offset() + from_offset),
                            static_cast<VkDeviceSize>(to.offset() + to_offset),
                            static_cast<VkDeviceSize>(bytes)};
  core.vk().CmdCopyBuffer(commands, from.handle(), to.handle(), 1, &region);
}

}  // namespace

VulkanStream::VulkanStream(std::shared_ptr<Core> core) : core_(std::move(core)), pool_(core_) {}

// Its members wait for what was submitted.
VulkanStream::~VulkanStream() = default;

void VulkanStream::run(const Recording& recording) {
  const auto* ours = dynamic_cast<const VulkanRecording*>(&recording);
  TCC_CHECK(ours, "a recording of another device");
  const VkCommandBuffer commands = ours->commands();
  last_ = core_->submit({&commands, 1});
}

void VulkanStream::run(std::span<const BoundStep> steps) {
  check_steps(*core_, steps);
  submit(argument_table_bytes(steps), [&](const Batch& batch) {
    record_steps(*core_, batch.commands, steps, batch.arguments.get());
  });
}

void VulkanStream::copy_to_device(Buffer& buffer, int64_t offset, std::span<const std::byte> from) {
  const Memory& to = memory_of(buffer);
  const auto bytes = static_cast<int64_t>(from.size());
  check_range(offset, bytes, buffer.bytes());
  if (bytes == 0) return;
  if (to.mapped()) {
    synchronize();  // earlier work may still read the old bytes
    std::memcpy(to.mapped() + offset, from.data(), from.size());
    return;
  }
  for (int64_t done = 0; done < bytes; done += kStageBytes) {
    const int64_t size = std::min(kStageBytes, bytes - done);
    Stage& through = stage(static_cast<size_t>(done / kStageBytes));
    std::memcpy(through.memory->mapped(), from.data() + done, static_cast<size_t>(size));
    through.submission = submit_copy(*through.memory, 0, to, offset + done, size);
  }
  synchronize();
}

void VulkanStream::copy_to_host(std::span<std::byte> to, const Buffer& buffer, int64_t offset) {
  const Memory& from = memory_of(buffer);
  const auto bytes = static_cast<int64_t>(to.size());
  check_range(offset, bytes, buffer.bytes());
  if (bytes == 0) return;
  if (from.mapped()) {
    synchronize();
    std::memcpy(to.data(), from.mapped() + offset, to.size());
    return;
  }
  // One chunk ahead: while the host copies a chunk out, the device copies the next one in.
  const int64_t chunks = ceil_div(bytes, kStageBytes);
  const auto chunk_size = [&](int64_t chunk) {
    return std::min(kStageBytes, bytes - chunk * kStageBytes);
  };
  for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
    if (chunk < chunks) {
      Stage& through = stage(static_cast<size_t>(chunk));
      through.submission =
          submit_copy(from, offset + chunk * kStageBytes, *through.memory, 0, chunk_size(chunk));
    }
    if (chunk == 0) continue;
    Stage& ready = stage(static_cast<size_t>(chunk - 1));
    std::memcpy(to.data() + (chunk - 1) * kStageBytes, ready.memory->mapped(),
                static_cast<size_t>(chunk_size(chunk - 1)));
  }
}

void VulkanStream::fill(Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) {
  const Memory& memory = memory_of(buffer);
  check_range(offset, bytes, buffer.bytes());
  if (bytes == 0) return;
  // Whole words are filled; up to three bytes before and after them are copied.
  const int64_t end = offset + bytes;
  const int64_t words_begin = std::min(round_up(offset, kFillUnit), end);
  const int64_t words_end = std::max(end / kFillUnit * kFillUnit, words_begin);
  submit(kFillUnit, [&](const Batch& batch) {
    std::memset(batch.arguments->mapped(), value, kFillUnit);
    if (words_end > words_begin)
      core_->vk().CmdFillBuffer(
          batch.commands, memory.handle(), static_cast<VkDeviceSize>(memory.offset() + words_begin),
          static_cast<VkDeviceSize>(words_end - words_begin), value * 0x01010101u);
    record_copy(*core_, batch.commands, *batch.arguments, 0, memory, offset, words_begin - offset);
    record_copy(*core_, batch.commands, *batch.arguments, 0, memory, words_end, end - words_end);
  });
}

void VulkanStream::synchronize() { core_->wait(last_); }

VulkanStream::Batch& VulkanStream::next_batch(int64_t argument_bytes) {
  batch_ = (batch_ + 1) % batches_.size();
  Batch& batch = batches_[batch_];
  core_->wait(batch.submission);
  if (!batch.commands) batch.commands = pool_.allocate();
  if (argument_bytes > 0 && (!batch.arguments || batch.arguments->bytes() < argument_bytes)) {
    constexpr int64_t kLeast = 4096;
    batch.arguments.reset();
    batch.arguments =
        std::make_unique<Memory>(core_, MemoryUse::argument, std::max(kLeast, argument_bytes));
  }
  return batch;
}

VulkanStream::Batch& VulkanStream::record(int64_t argument_bytes,
                                          const std::function<void(const Batch&)>& commands) {
  core_->require_alive();
  Batch& batch = next_batch(argument_bytes);
  begin_commands(*core_, batch.commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  commands(batch);
  end_commands(*core_, batch.commands);
  return batch;
}

uint64_t VulkanStream::submit(int64_t argument_bytes,
                              const std::function<void(const Batch&)>& commands) {
  Batch& batch = record(argument_bytes, commands);
  last_ = batch.submission = core_->submit({&batch.commands, 1});
  return last_;
}

VulkanStream::Stage& VulkanStream::stage(size_t chunk) {
  Stage& stage = stages_[chunk % stages_.size()];
  core_->wait(stage.submission);
  if (!stage.memory)
    stage.memory = std::make_unique<Memory>(core_, MemoryUse::staging, kStageBytes);
  return stage;
}

uint64_t VulkanStream::submit_copy(const Memory& from, int64_t from_offset, const Memory& to,
                                   int64_t to_offset, int64_t bytes) {
  return submit(0, [&](const Batch& batch) {
    record_copy(*core_, batch.commands, from, from_offset, to, to_offset, bytes);
    if (to.mapped()) add_host_barrier(*core_, batch.commands);
  });
}

}  // namespace tcc::runtime::vulkan
