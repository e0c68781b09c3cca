// A stream: a ring of command buffers on the device's queue, staging memory for copies, timestamps.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/vulkan/commands.h"

namespace tcc::runtime::vulkan {

class VulkanStream final : public Stream {
 public:
  explicit VulkanStream(std::shared_ptr<Core> core);
  ~VulkanStream() override;

  void run(const Recording& recording) override;
  void run(std::span<const BoundStep> steps) override;
  void copy_to_device(Buffer& to, int64_t offset, std::span<const std::byte> from) override;
  void copy_to_host(std::span<std::byte> to, const Buffer& from, int64_t offset) override;
  void fill(Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) override;
  void synchronize() override;
  // All work that is enqueued on the device from now on waits for the semaphore.
  void wait_for(SemaphoreAt semaphore) { last_ = core_->submit({}, semaphore); }
  // The semaphore is signalled when all that was enqueued on the device has ended.
  void signal(SemaphoreAt semaphore) { last_ = core_->submit({}, {}, semaphore); }
  std::vector<double> time_each(std::span<const BoundStep> steps) override;
  double time(const Recording& recording, int repeat) override;

 private:
  // A command buffer with the memory that its commands read; reused once its submission has
  // completed.
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::unique_ptr<Memory> arguments;
    uint64_t submission = 0;
  };
  // A chunk of host memory that copies pass through.
  struct Stage {
    std::unique_ptr<Memory> memory;
    uint64_t submission = 0;
  };

  // Returns the next batch, with `argument_bytes` of mapped memory.
  Batch& next_batch(int64_t argument_bytes);
  // Records with `commands` into the next batch.
  Batch& record(int64_t argument_bytes, const std::function<void(const Batch&)>& commands);
  // The same, and submits it; returns the submission's number.
  uint64_t submit(int64_t argument_bytes, const std::function<void(const Batch&)>& commands);
  Stage& stage(size_t chunk);
  uint64_t submit_copy(const Memory& from, int64_t from_offset, const Memory& to, int64_t to_offset,
                       int64_t bytes);
  std::vector<double> time_with_host_clock(std::span<const BoundStep> steps);

  const std::shared_ptr<Core> core_;
  CommandPool pool_;
  std::array<Batch, 8> batches_;
  size_t batch_ = 0;
  std::array<Stage, 2> stages_;
  uint64_t last_ = 0;  // the latest submission of this stream
};

}  // namespace tcc::runtime::vulkan
