// The public interface to devices of the caller's.
#include "tcc/vulkan.hpp"

#include <limits>

#include "api/context_impl.h"
#include "runtime/vulkan/adopted.h"

namespace tcc::vulkan {

namespace inner = runtime::vulkan;

struct Device::Impl {
  std::shared_ptr<runtime::Device> device;
};

namespace {

template <class Handle>
void require(Handle handle, const char* name) {
  if (!handle) fail_input("the Vulkan device's ", name, " is null");
}

// The chain of features, in memory of its own.
struct Chain {
  inner::Features features;
};

}  // namespace

DeviceNeeds device_needs(VkInstance instance, VkPhysicalDevice device, std::uint32_t api_version,
                         PFN_vkGetInstanceProcAddr get) {
  require(instance, "instance");
  require(device, "physical device");
  inner::Instance given;
  given.handle = instance;
  given.vk = inner::load_instance_functions(
      instance, get ? get : inner::global_functions().GetInstanceProcAddr);
  given.devices = {device};
  const inner::Physical physical = inner::inspect(given, device);
  if (!physical.unusable.empty() || api_version < VK_API_VERSION_1_2)
    fail_input(physical.device_name, " cannot be used: ",
               physical.unusable.empty() ? "the instance must be of Vulkan 1.2 or newer"
                                         : physical.unusable);
  auto chain = std::make_shared<Chain>(Chain{physical.features});
  DeviceNeeds needs;
  needs.extensions = inner::wanted_extensions(physical);
  const bool has_subgroup_sizes =
      api_version >= VK_API_VERSION_1_3 ||
      physical.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  needs.features = chain->features.link(
      {.subgroup_size = physical.subgroup_size_control && has_subgroup_sizes,
       .cooperative_matrix = physical.features.cooperative_matrix.cooperativeMatrix != VK_FALSE,
       .cooperative_matrix2 =
           physical.features.cooperative_matrix2.cooperativeMatrixConversions != VK_FALSE,
       .bfloat16 = physical.features.bfloat16.shaderBFloat16Type != VK_FALSE});
  needs.memory = std::move(chain);
  return needs;
}

Device::Device(const DeviceInfo& info) {
  require(info.instance, "instance");
  require(info.physical_device, "physical device");
  require(info.device, "device");
  require(info.queue, "queue");
  require(info.features, "chain of features");
  if (!info.lock_queue != !info.unlock_queue)
    fail_input("the Vulkan device's lock_queue and unlock_queue come together");
  inner::Adopted adopted;
  adopted.instance = info.instance;
  adopted.physical = info.physical_device;
  adopted.device = info.device;
  adopted.queue = info.queue;
  adopted.enabled = {info.features,
                     {info.extensions.begin(), info.extensions.end()},
                     info.api_version,
                     info.queue_family};
  adopted.get = info.get;
  adopted.lock_queue = info.lock_queue;
  adopted.unlock_queue = info.unlock_queue;
  impl_ = std::make_shared<const Impl>(Impl{inner::adopt_device(std::move(adopted))});
}

std::string Device::name() const { return impl_->device->name(); }

DeviceBuffer Device::wrap(VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
                          std::function<void()> release) const {
  require(buffer, "buffer");
  constexpr auto most = static_cast<VkDeviceSize>(std::numeric_limits<std::int64_t>::max());
  if (offset > most || bytes > most)
    fail_input("bytes ", offset, " to ", offset, " + ", bytes, " of a Vulkan buffer");
  return DeviceAccess::wrapped(
      impl_->device,
      inner::wrap_buffer(*impl_->device, buffer, static_cast<std::int64_t>(offset),
                         static_cast<std::int64_t>(bytes)),
      static_cast<std::int64_t>(bytes), std::move(release));
}

BufferRange range_of(const DeviceBuffer& buffer) {
  const auto& impl = DeviceAccess::impl(buffer);
  if (!impl) fail_input("a buffer of no device");
  const inner::Heap::Range range = inner::range_of(*impl->memory);
  return {range.buffer, range.offset + static_cast<VkDeviceSize>(buffer.offset())};
}

void wait(Context& context, VkSemaphore semaphore, std::uint64_t value) {
  require(semaphore, "semaphore");
  auto& impl = ContextAccess::impl(context);
  const ContextAccess::Impl::Use use(impl);
  inner::wait_for(*impl.stream->stream, {semaphore, value});
}

void signal(Context& context, VkSemaphore semaphore, std::uint64_t value) {
  require(semaphore, "semaphore");
  auto& impl = ContextAccess::impl(context);
  const ContextAccess::Impl::Use use(impl);
  inner::signal(*impl.stream->stream, {semaphore, value});
}

Recorded record(Context& context, VkCommandBuffer commands, std::span<const DeviceBuffer> inputs,
                std::span<const DeviceBuffer> outputs) {
  require(commands, "command buffer");
  auto& impl = ContextAccess::impl(context);
  const ContextAccess::Impl::Use use(impl);
  impl.take(inputs, outputs);
  Recorded recorded;
  recorded.memory_ = inner::record_into(impl.program->device(), commands,
                                        impl.context.steps_on(impl.inputs, impl.outputs));
  return recorded;
}

}  // namespace tcc::vulkan
