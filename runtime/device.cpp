#include "runtime/device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "support/error.h"

namespace tcc::runtime {
namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<DeviceKind>& registered_kinds() {
  static std::vector<DeviceKind> all;
  return all;
}

bool comes_before(const DeviceKind& a, const DeviceKind& b) {
  return a.preference != b.preference ? a.preference > b.preference : a.name < b.name;
}

struct Name {
  const DeviceKind* kind;
  int ordinal = 0;
};

// "cuda:1", "cuda" (its first device), "null".
std::optional<Name> parse_name(std::string_view text) {
  const size_t colon = text.find(':');
  const auto& kinds = registered_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const DeviceKind& one) {
    return one.name == text.substr(0, colon);
  });
  if (kind == kinds.end()) return std::nullopt;
  Name name{&*kind};
  if (colon == text.npos) return name;
  if (!kind->list) return std::nullopt;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.ordinal);
  if (error != std::errc() || stop != end || name.ordinal < 0) return std::nullopt;
  return name;
}

std::string what_there_is() {
  const DeviceList list = list_devices();
  std::string text = "there are ";
  std::string comma;
  const auto add = [&](std::string_view name) {
    text += comma;
    text += name;
    comma = ", ";
  };
  for (const DeviceEntry& device : list.devices) add(device.name);
  for (const DeviceKind& kind : registered_kinds())
    if (!kind.list) add(kind.name);
  for (const std::string& reason : list.missing) text += "; " + reason;
  return text;
}

[[noreturn]] void fail_no_device(const std::string& reason) {
  throw Error(ErrorKind::no_device, reason);
}

// Devices are shared as long as someone uses them.
std::shared_ptr<Device> open_shared(const Name& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& entry = opened[str(name.kind->name, ":", name.ordinal)];
  if (auto device = entry.lock()) return device;
  auto device = name.kind->open(name.ordinal);
  entry = device;
  return device;
}

// Devices of callers, which open_shared() knows nothing of.
struct SharedDevices {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Device>, std::less<>> by_name;
};
SharedDevices& shared_devices() {
  static SharedDevices devices;
  return devices;
}

std::shared_ptr<Device> callers_device(std::string_view name) {
  SharedDevices& devices = shared_devices();
  const std::lock_guard lock(devices.mutex);
  const auto found = devices.by_name.find(name);
  return found == devices.by_name.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Device> open_auto() {
  std::shared_ptr<Device> software;
  for (const DeviceKind& kind : registered_kinds()) {
    if (!kind.list) continue;
    for (const DeviceEntry& entry : kind.list().devices) {
      auto device = open_shared(*parse_name(entry.name));
      if (!device->target().is_cpu) return device;
      if (!software) software = std::move(device);
    }
  }
  if (!software) fail_no_device(str("no device: ", what_there_is()));
  return software;
}

}  // namespace

Device::Exported::Exported(Exported&& other) noexcept
    : buffer(std::move(other.buffer)),
      file(std::exchange(other.file, -1)),
      allocation_bytes(other.allocation_bytes) {}

Device::Exported::~Exported() {
  if (file >= 0) ::close(file);
}

Device::Exported Device::allocate_exported(int64_t) {
  fail_input(name(), ": this device cannot share its memory with another API");
}

std::unique_ptr<Buffer> Device::import(Exported&, int64_t) {
  fail_input(name(), ": this device cannot use memory of another API");
}

const DeviceKind& device_kind(std::string_view name) {
  for (const DeviceKind& kind : registered_kinds())
    if (kind.name == name) return kind;
  throw InternalError(str("no kind of device '", name, "'"));
}

RegisterDevices::RegisterDevices(const DeviceKind& kind) {
  auto& all = registered_kinds();
  for (const DeviceKind& other : all)
    TCC_CHECK(other.name != kind.name, "two kinds of device '", kind.name, "'");
  exec::api_of(kind.name);  // from now on files may name it
  all.insert(std::upper_bound(all.begin(), all.end(), kind, comes_before), kind);
}

DeviceList list_devices() {
  DeviceList list;
  for (const DeviceKind& kind : registered_kinds()) {
    if (!kind.list) continue;
    const DeviceList own = kind.list();
    list.devices.insert(list.devices.end(), own.devices.begin(), own.devices.end());
    list.missing.insert(list.missing.end(), own.missing.begin(), own.missing.end());
  }
  return list;
}

void share_device(const std::shared_ptr<Device>& device) {
  SharedDevices& devices = shared_devices();
  const std::lock_guard lock(devices.mutex);
  std::erase_if(devices.by_name, [](const auto& entry) { return entry.second.expired(); });
  const bool is_new = devices.by_name.emplace(device->name(), device).second;
  TCC_CHECK(is_new, "two devices '", device->name(), "'");
}

std::shared_ptr<Device> open_device(std::string_view text) {
  if (text == "auto") return open_auto();
  if (auto device = callers_device(text)) return device;
  const auto name = parse_name(text);
  if (!name) fail_no_device(str("no device '", text, "'; ", what_there_is()));
  return open_shared(*name);
}

}  // namespace tcc::runtime
