#include "api/impl.h"
#include "runtime/device.h"

namespace tcc {

DeviceList list_devices() {
  runtime::DeviceList found = runtime::list_devices();
  DeviceList list;
  list.missing = std::move(found.missing);
  for (const runtime::DeviceEntry& entry : found.devices) {
    const size_t colon = entry.name.find(':');
    list.devices.push_back({entry.name, entry.name.substr(0, colon),
                            std::stoi(entry.name.substr(colon + 1)), entry.target.device,
                            entry.target.driver, entry.target.id(), entry.memory_bytes,
                            entry.target.max_buffer_bytes, entry.target.is_cpu});
  }
  return list;
}

}  // namespace tcc
