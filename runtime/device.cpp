#include "runtime/device.h"

#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include "support/error.h"

namespace tcc::runtime {
namespace {

struct Name {
  std::string_view backend;  // "cuda", "vulkan", "null"
  int ordinal = 0;
};

// "cuda:1", "cuda" (its first device), "null".
std::optional<Name> parse_name(std::string_view text) {
  const size_t colon = text.find(':');
  Name name{text.substr(0, colon)};
  if (name.backend == "null") return colon == text.npos ? std::optional(name) : std::nullopt;
  if (name.backend != "cuda" && name.backend != "vulkan") return std::nullopt;
  if (colon == text.npos) return name;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.ordinal);
  if (error != std::errc() || stop != end || name.ordinal < 0) return std::nullopt;
  return name;
}

std::string what_there_is() {
  const DeviceList list = list_devices();
  std::string text = "there are ";
  for (const DeviceEntry& device : list.devices) text += device.name + ", ";
  text += "null";
  for (const std::string& reason : list.missing) text += "; " + reason;
  return text;
}

[[noreturn]] void fail_no_device(const std::string& reason) {
  throw Error(ErrorKind::no_device, reason);
}

std::shared_ptr<Device> open_parsed(const Name& name) {
  if (name.backend == "cuda") return open_cuda(name.ordinal);
  if (name.backend == "vulkan") return open_vulkan(name.ordinal);
  return open_null();
}

// Devices are shared as long as someone uses them.
std::shared_ptr<Device> open_shared(const Name& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& entry = opened[str(name.backend, ":", name.ordinal)];
  if (auto device = entry.lock()) return device;
  auto device = open_parsed(name);
  entry = device;
  return device;
}

std::shared_ptr<Device> open_auto() {
  if (!list_cuda().devices.empty()) return open_shared({"cuda", 0});
  std::shared_ptr<Device> software;
  for (const DeviceEntry& entry : list_vulkan().devices) {
    auto device = open_shared(*parse_name(entry.name));
    if (!device->target().is_cpu) return device;
    if (!software) software = std::move(device);
  }
  if (!software) fail_no_device(str("no device: ", what_there_is()));
  return software;
}

}  // namespace

BoundLaunch copy_launch(DeviceAddress to, DeviceAddress from, int64_t bytes) {
  return {nullptr, {to, from}, bytes};
}

bool is_copy(const BoundLaunch& launch) {
  if (launch.kernel) return false;
  TCC_CHECK(launch.arguments.size() == 2 && launch.bytes >= 0, "a launch without a kernel");
  return true;
}

DeviceList list_devices() {
  DeviceList list = list_cuda();
  DeviceList vulkan = list_vulkan();
  list.devices.insert(list.devices.end(), vulkan.devices.begin(), vulkan.devices.end());
  list.missing.insert(list.missing.end(), vulkan.missing.begin(), vulkan.missing.end());
  return list;
}

std::shared_ptr<Device> open_device(std::string_view text) {
  if (text == "auto") return open_auto();
  const auto name = parse_name(text);
  if (!name) fail_no_device(str("no device '", text, "'; ", what_there_is()));
  return open_shared(*name);
}

}  // namespace tcc::runtime
