// The Vulkan device: the Device interface over one Core, and what Vulkan devices there are.
#include <atomic>

#include "runtime/device.h"
#include "runtime/vulkan/adopted.h"
#include "runtime/vulkan/commands.h"
#include "runtime/vulkan/core.h"
#include "runtime/vulkan/kernel.h"
#include "runtime/vulkan/matrix_elements.h"
#include "runtime/vulkan/memory.h"
#include "runtime/vulkan/stream.h"
#include "support/error.h"

namespace tcc::runtime {
namespace vulkan {
namespace {

class VulkanDevice final : public Device {
 public:
  explicit VulkanDevice(int ordinal) : core_(std::make_shared<Core>(ordinal)) {}
  VulkanDevice(std::string name, Adopted adopted)
      : core_(std::make_shared<Core>(std::move(name), std::move(adopted))) {}

  const std::shared_ptr<Core>& core() const { return core_; }
  void ask_for_fragments() { core_->add_matrix_units(find_fragment_units(*this)); }

  const exec::Target& target() const override { return core_->physical().target; }
  std::string name() const override { return core_->name(); }
  int64_t memory_bytes() const override { return core_->physical().memory_bytes; }
  int64_t allocated_bytes() const override { return core_->heap().taken_bytes(); }
  std::string pci_address() const override { return core_->physical().pci_address; }

  // GPUs do; the clocks of CUDA's stay up while a context is open.
  bool dozes() const override { return !target().is_cpu; }
  bool compiles_alone() const override { return core_->physical().compiles_alone; }

  std::unique_ptr<Buffer> allocate(int64_t bytes) override {
    require_memory();
    return std::make_unique<VulkanBuffer>(core_, bytes);
  }
  bool takes_foreign_addresses() const override { return false; }
  std::unique_ptr<Buffer> wrap(DeviceAddress, int64_t) override {
    fail_input(name(), ": a Vulkan device cannot use memory that it did not allocate");
  }
  Exported allocate_exported(int64_t bytes) override {
    require_memory();
    Exported memory;
    memory.buffer = std::make_unique<VulkanBuffer>(core_, bytes, memory);
    return memory;
  }
  void check(const exec::KernelBinary& binary) const override { check_kernel(*core_, binary); }
  std::unique_ptr<LoadedKernel> load(const exec::KernelBinary& binary) override {
    return std::make_unique<VulkanKernel>(core_, binary);
  }
  std::unique_ptr<Stream> create_stream() override {
    require_memory();
    return std::make_unique<VulkanStream>(core_);
  }
  std::unique_ptr<Stream> wrap_stream(void*) override {
    fail_input(name(), ": a Vulkan device has no streams of the caller's");
  }
  std::unique_ptr<Recording> record(std::span<const BoundStep> steps) override {
    require_memory();
    return std::make_unique<VulkanRecording>(core_, steps);
  }

 private:
  void require_memory() const {
    if (compiles_alone())
      fail_device(name(), ": its driver compiles for ", target().device,
                  ", which is not there: it has no memory, and nothing runs on it");
  }

  const std::shared_ptr<Core> core_;
};

template <class Ours, class Base>
Ours& ours(Base& base, const char* what) {
  auto* found = dynamic_cast<Ours*>(&base);
  if (!found) fail_input(what, " is not of Vulkan");
  return *found;
}

}  // namespace

std::shared_ptr<Device> adopt_device(Adopted adopted) {
  static std::atomic<int> count = 0;
  auto device = std::make_shared<VulkanDevice>(str("vulkan:own", count++), std::move(adopted));
  device->ask_for_fragments();
  share_device(device);
  return device;
}

std::unique_ptr<Buffer> wrap_buffer(Device& device, VkBuffer buffer, int64_t offset,
                                    int64_t bytes) {
  return std::make_unique<VulkanBuffer>(ours<VulkanDevice>(device, "the device").core(), buffer,
                                        offset, bytes);
}

Heap::Range range_of(const Buffer& buffer) {
  const Memory& memory = ours<const VulkanBuffer>(buffer, "the buffer").memory();
  return {memory.handle(), static_cast<VkDeviceSize>(memory.offset())};
}

void wait_for(Stream& stream, SemaphoreAt semaphore) {
  ours<VulkanStream>(stream, "the stream").wait_for(semaphore);
}

void signal(Stream& stream, SemaphoreAt semaphore) {
  ours<VulkanStream>(stream, "the stream").signal(semaphore);
}

std::shared_ptr<const void> record_into(Device& device, VkCommandBuffer commands,
                                        std::span<const BoundStep> steps) {
  return std::shared_ptr<const Memory>(
      record_into(ours<VulkanDevice>(device, "the device").core(), commands, steps));
}

}  // namespace vulkan

namespace {

std::shared_ptr<Device> open_vulkan(int ordinal) {
  auto device = std::make_shared<vulkan::VulkanDevice>(ordinal);
  device->ask_for_fragments();
  return device;
}

DeviceList list_vulkan() {
  DeviceList list;
  try {
    const vulkan::Instance& instance = vulkan::instance();
    for (size_t i = 0; i < instance.devices.size(); ++i) {
      const vulkan::Physical physical = vulkan::inspect(instance, instance.devices[i]);
      const std::string name = str("vulkan:", i);
      if (physical.compiles_alone && physical.unusable.empty())
        list.missing.push_back(str(name, " (", physical.device_name,
                                   "): its driver compiles kernels, by that name, and runs none: "
                                   "the device has no memory"));
      else if (physical.unusable.empty())
        list.devices.push_back(
            {name, vulkan::describe(physical), physical.target, physical.memory_bytes});
      else
        list.missing.push_back(str(name, " (", physical.device_name, "): ", physical.unusable));
    }
    if (instance.devices.empty()) list.missing.push_back("vulkan: no device");
  } catch (const Error& error) { list.missing.push_back(str("vulkan: ", error.what())); }
  return list;
}

const RegisterDevices registered_vulkan({"vulkan", 1, list_vulkan, open_vulkan});

}  // namespace

}  // namespace tcc::runtime
