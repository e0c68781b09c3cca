#include "runtime/vulkan/core.h"

#include "executable/quirks.h"
#include "runtime/device_checks.h"
#include "runtime/vulkan/result.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::runtime::vulkan {
namespace {

Physical usable_device(int ordinal) {
  const Instance& vulkan = instance();
  const auto count = static_cast<int>(vulkan.devices.size());
  if (ordinal < 0 || ordinal >= count)
    throw Error(ErrorKind::no_device,
                str("no device vulkan:", ordinal, count == 1 ? "; there is " : "; there are ",
                    counted(static_cast<size_t>(count), "Vulkan device")));
  Physical physical = inspect(vulkan, vulkan.devices[ordinal]);
  if (!physical.unusable.empty())
    throw Error(ErrorKind::no_device, str("vulkan:", ordinal, " (", physical.device_name,
                                          ") cannot be used: ", physical.unusable));
  return physical;
}

// tcc's own instance is never destroyed.
std::shared_ptr<const Instance> own_instance() {
  return {std::shared_ptr<const Instance>(), &instance()};
}

std::shared_ptr<const Instance> instance_of(const Adopted& adopted) {
  auto made = std::make_shared<Instance>();
  made->handle = adopted.instance;
  made->vk = load_instance_functions(
      adopted.instance, adopted.get ? adopted.get : global_functions().GetInstanceProcAddr);
  made->devices = {adopted.physical};
  return made;
}

Physical usable_device(const Instance& instance, const Adopted& adopted) {
  Physical physical = inspect(instance, adopted.physical, &adopted.enabled);
  if (!physical.unusable.empty())
    fail_input("the Vulkan device (", physical.device_name,
               ") cannot be used as it was made: ", physical.unusable);
  return physical;
}

}  // namespace

Core::Core(std::string name, Adopted adopted)
    : name_(std::move(name)),
      instance_(instance_of(adopted)),
      adopted_(std::move(adopted)),
      physical_(usable_device(*instance_, adopted_)),
      device_(adopted_.device),
      queue_(adopted_.queue),
      timeout_seconds_(device_timeout_seconds()) {
  try {
    vk_ = load_device_functions(instance_->vk, device_);
    create_timeline();
    pipelines_.create();
  } catch (...) {
    destroy();
    throw;
  }
}

Core::Core(int ordinal)
    : name_(str("vulkan:", ordinal)),
      instance_(own_instance()),
      physical_(usable_device(ordinal)),
      timeout_seconds_(device_timeout_seconds()) {
  try {
    create_device();
    if (!physical_.compiles_alone) create_timeline();  // nothing is ever submitted
    pipelines_.create();
  } catch (...) {
    destroy();
    throw;
  }
}

void Core::create_device() {
  const InstanceFunctions& vk = instance_->vk;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;

  std::vector<const char*> extensions = wanted_extensions(physical_);
  const bool multiplies = physical_.features.cooperative_matrix.cooperativeMatrix != VK_FALSE;
  const bool converts =
      physical_.features.cooperative_matrix2.cooperativeMatrixConversions != VK_FALSE;
  const bool has_bfloat16 = physical_.features.bfloat16.shaderBFloat16Type != VK_FALSE;
  const bool has_dots = physical_.features.dot_product.shaderIntegerDotProduct != VK_FALSE;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = physical_.features.link({.subgroup_size = physical_.subgroup_size_control,
                                        .cooperative_matrix = multiplies,
                                        .cooperative_matrix2 = converts,
                                        .bfloat16 = has_bfloat16,
                                        .dot_product = has_dots});
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR reports{};
  if (physical_.compiles_alone) {  // what its compiler says is all that there is
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    reports.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    reports.pipelineExecutableInfo = VK_TRUE;
    reports.pNext = const_cast<void*>(info.pNext);
    info.pNext = &reports;
  }
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vk.CreateDevice(physical_.handle, &info, nullptr, &device_), "vkCreateDevice");
  vk_ = load_device_functions(vk, device_);
  vk_.GetDeviceQueue(device_, physical_.queue_family, 0, &queue_);
}

void Core::create_timeline() {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  check(vk_.CreateSemaphore(device_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore");
}

Core::~Core() {
  if (!retire()) return;
  if (state_ == State::alive) pipelines_.save();
  destroy();
}

void Core::destroy() {
  if (!vk_.DestroyDevice) return;
  heap_.destroy();
  pipelines_.destroy();
  vk_.DestroySemaphore(device_, timeline_, nullptr);
  if (!adopted_.device) vk_.DestroyDevice(device_, nullptr);
}

void Core::add_matrix_units(std::vector<exec::MatrixUnit> units) {
  exec::Target& target = physical_.target;
  exec::switch_off_units(units, target, exec::quirks());
  target.matrix_units.insert(target.matrix_units.end(), units.begin(), units.end());
}

void Core::check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  if (result == VK_ERROR_DEVICE_LOST) {
    state_ = State::lost;
    fail_device(name_, ": device lost in ", call);
  }
  fail_device(name_, ": ", call, ": ", result_name(result));
}

void Core::require_alive() const {
  const State state = state_;
  if (state == State::lost) fail_device(name_, ": the device was lost");
  if (state == State::hung) fail_device(name_, ": the device does not answer since it timed out");
}

namespace {

// The caller's other users of the queue wait meanwhile.
class QueueLock {
 public:
  explicit QueueLock(const Adopted& adopted) : adopted_(adopted) {
    if (adopted_.lock_queue) adopted_.lock_queue();
  }
  ~QueueLock() {
    if (adopted_.unlock_queue) adopted_.unlock_queue();
  }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  const Adopted& adopted_;
};

}  // namespace

uint64_t Core::submit(std::span<const VkCommandBuffer> commands, SemaphoreAt wait,
                      SemaphoreAt signal) {
  require_alive();
  const std::lock_guard lock(queue_mutex_);
  const uint64_t number = submitted_ + 1;
  const VkSemaphore signals[] = {timeline_, signal.semaphore};
  const uint64_t values[] = {number, signal.value};
  const uint32_t num_signals = signal.semaphore ? 2 : 1;
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.signalSemaphoreValueCount = num_signals;
  timeline.pSignalSemaphoreValues = values;
  timeline.waitSemaphoreValueCount = wait.semaphore ? 1 : 0;
  timeline.pWaitSemaphoreValues = &wait.value;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  info.waitSemaphoreCount = wait.semaphore ? 1 : 0;
  info.pWaitSemaphores = &wait.semaphore;
  info.pWaitDstStageMask = &stages;
  info.signalSemaphoreCount = num_signals;
  info.pSignalSemaphores = signals;
  const QueueLock use(adopted_);
  check(vk_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  submitted_ = number;
  return number;
}

VkResult Core::wait_for(uint64_t submission, double seconds) {
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &submission;
  return vk_.WaitSemaphores(device_, &info, static_cast<uint64_t>(seconds * 1e9));
}

void Core::wait(uint64_t submission) {
  if (submission <= completed_) return;
  require_alive();
  const VkResult result = wait_for(submission, timeout_seconds_);
  if (result == VK_TIMEOUT) {
    state_ = State::hung;
    fail_device(name_, ": timed out after ", timeout_seconds_, " s (TCC_DEVICE_TIMEOUT)");
  }
  check(result, "vkWaitSemaphores");
  note_completed(submission);
}

void Core::compile(VkCommandBuffer commands) {
  wait(submitted_);  // work from before has its limit
  const uint64_t submission = submit({&commands, 1});
  constexpr double kSeconds = 60;
  VkResult result = VK_TIMEOUT;
  while (result == VK_TIMEOUT) result = wait_for(submission, kSeconds);
  check(result, "vkWaitSemaphores");
  note_completed(submission);
}

void Core::note_completed(uint64_t submission) {
  uint64_t known = completed_;
  while (known < submission && !completed_.compare_exchange_weak(known, submission)) {}
}

bool Core::retire() noexcept {
  try {
    if (state_ == State::alive) wait(submitted_);
  } catch (const Error&) {
    // The state says what happened.
  }
  // It may have come to an end after all.
  return state_ != State::hung || wait_for(submitted_, 0) != VK_TIMEOUT;
}

}  // namespace tcc::runtime::vulkan
