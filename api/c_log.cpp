// The C ABI: the log and the list of devices.
#include "api/c_handles.h"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_device_list {
  tcc::DeviceList list;
  std::string missing;
};

tcc_status tcc_set_log(tcc_log_fn log, void* user, int least) noexcept {
  return guard([&] {
    if (least < TCC_LOG_DEBUG || least > TCC_LOG_ERROR)
      tcc::fail_input("least: ", least, " is no level");
    if (!log) return tcc::set_log_hook({});
    tcc::set_log_hook(
        [=](tcc::LogLevel level, std::string_view channel, std::string_view text) {
          log(user, static_cast<tcc_log_level>(level), std::string(channel).c_str(),
              std::string(text).c_str());
        },
        static_cast<tcc::LogLevel>(least));
  });
}

tcc_status tcc_device_list_create(tcc_device_list** list) noexcept {
  return guard([&] {
    given(list, "list");
    auto made = std::make_unique<tcc_device_list>();
    made->list = tcc::list_devices();
    for (const std::string& reason : made->list.missing)
      made->missing += (made->missing.empty() ? "" : "\n") + reason;
    *list = made.release();
  });
}

void tcc_device_list_destroy(tcc_device_list* list) noexcept { delete list; }

size_t tcc_device_list_size(const tcc_device_list* list) noexcept {
  return list ? list->list.devices.size() : 0;
}

const char* tcc_device_list_missing(const tcc_device_list* list) noexcept {
  return list ? list->missing.c_str() : "";
}

tcc_status tcc_device_list_get(const tcc_device_list* list, size_t index,
                               tcc_device_info* info) noexcept {
  return guard([&] {
    const std::vector<tcc::DeviceInfo>& devices = given(list, "list").list.devices;
    given(info, "info");
    if (index >= devices.size()) tcc::fail_input("index ", index, " of ", devices.size());
    const tcc::DeviceInfo& device = devices[index];
    fill(info,
         {0, device.id.c_str(), device.kind.c_str(), device.index, device.name.c_str(),
          device.driver.c_str(), device.target.c_str(), device.memory_bytes,
          device.max_buffer_bytes, device.is_cpu},
         "tcc_device_info");
  });
}
