// Listing and opening devices by name.
#include "support/error.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

TEST(OpenDeviceTest, ListedDevicesOpenUnderTheirNames) {
  for (const std::string& name : devices_present()) {
    const auto device = open_device(name);
    EXPECT_EQ(device->name(), name);
    EXPECT_GT(device->memory_bytes(), 0);
    EXPECT_EQ(open_device(name), device) << "opened once and shared";
  }
}

TEST(OpenDeviceTest, EveryBackendIsListedOrSaysWhyNot) {
  const DeviceList list = list_devices();
  for (const std::string backend : {"cuda", "vulkan"}) {
    bool found = false;
    for (const DeviceEntry& device : list.devices)
      found = found || device.name.starts_with(backend + ":");
    for (const std::string& reason : list.missing) found = found || reason.starts_with(backend);
    EXPECT_TRUE(found) << backend;
  }
  for (const DeviceEntry& device : list.devices)
    EXPECT_FALSE(device.description.empty()) << device.name;
}

TEST(OpenDeviceTest, UnknownNamesSayWhatThereIs) {
  for (const char* name : {"", "gpu", "vulkan:", "vulkan:x", "vulkan:-1", "vulkan:1x", "vulkan:999",
                           "cuda:999", "null:0", "vulkan:99999999999"}) {
    try {
      open_device(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::no_device) << name; }
  }
  try {
    open_device("gpu");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no device 'gpu'; there are "), std::string::npos)
        << error.what();
  }
}

TEST(OpenDeviceTest, AutoTakesAGpuBeforeASoftwareDevice) {
  if (devices_present().size() < 2) {
    EXPECT_THROW(open_device("auto"), Error);
    return;
  }
  const auto device = open_device("auto");
  if (!device->target().is_cpu) return;
  for (const std::string& name : devices_present())
    EXPECT_TRUE(name == "null" || open_device(name)->target().is_cpu) << name;
}

}  // namespace
}  // namespace tcc::runtime
