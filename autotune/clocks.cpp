#include "autotune/clocks.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tcc::autotune {
namespace {

// The declarations are those of nvml.h; every function returns 0 for success.
struct Nvml {
  using Handle = struct nvmlDevice_st*;
  static constexpr int kSmClock = 1, kMemoryClock = 2;
  int (*init)() = nullptr;
  int (*find)(const char* pci_address, Handle* device) = nullptr;
  int (*clock)(Handle device, int type, unsigned* mhz) = nullptr;
  int (*highest_clock)(Handle device, int type, unsigned* mhz) = nullptr;
  int (*throttle_reasons)(Handle device, unsigned long long* reasons) = nullptr;
  int (*power)(Handle device, unsigned* milliwatts) = nullptr;  // may be missing
  bool usable = false;

  Nvml() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto load = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    usable = load(init, "nvmlInit_v2") && load(find, "nvmlDeviceGetHandleByPciBusId_v2") &&
             load(clock, "nvmlDeviceGetClockInfo") &&
             load(highest_clock, "nvmlDeviceGetMaxClockInfo") &&
             load(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") && init() == 0;
    load(power, "nvmlDeviceGetPowerUsage");
  }
};

struct Reason {
  unsigned long long bit;
  std::string_view name;
};
// An idle GPU (bit 0) is no reason: at the end of a measurement it is.
constexpr std::array kReasons = {
    Reason{0x2, "application clocks"},
    Reason{0x4, "power cap"},
    Reason{0x8, "hardware slowdown"},
    Reason{0x10, "sync boost"},
    Reason{0x20, "thermal"},
    Reason{0x40, "hardware thermal"},
    Reason{0x80, "hardware power brake"},
    Reason{0x100, "display clocks"},
};

const Nvml& nvml_library() {
  static const Nvml nvml;
  return nvml;
}

// Null when it is not known.
Nvml::Handle find(const Nvml& nvml, const std::string& pci_address) {
  Nvml::Handle device = nullptr;
  if (pci_address.empty() || !nvml.usable || nvml.find(pci_address.c_str(), &device) != 0)
    return nullptr;
  return device;
}

}  // namespace

double highest_sm_mhz(const std::string& pci_address) {
  const Nvml& nvml = nvml_library();
  const Nvml::Handle device = find(nvml, pci_address);
  unsigned mhz = 0;
  return device && nvml.highest_clock(device, Nvml::kSmClock, &mhz) == 0 ? mhz : 0;
}

Clocks read_clocks(const std::string& pci_address) {
  const Nvml& nvml = nvml_library();
  Clocks clocks;
  const Nvml::Handle device = find(nvml, pci_address);
  if (!device) return clocks;
  unsigned mhz = 0;
  if (nvml.clock(device, Nvml::kSmClock, &mhz) == 0) clocks.sm_mhz = mhz;
  if (nvml.clock(device, Nvml::kMemoryClock, &mhz) == 0) clocks.memory_mhz = mhz;
  unsigned milliwatts = 0;
  if (nvml.power && nvml.power(device, &milliwatts) == 0) clocks.power_watts = milliwatts * 1e-3;
  unsigned long long reasons = 0;
  if (nvml.throttle_reasons(device, &reasons) != 0) return clocks;
  for (const Reason& reason : kReasons) {
    if (!(reasons & reason.bit)) continue;
    if (!clocks.throttle.empty()) clocks.throttle += ", ";
    clocks.throttle += reason.name;
  }
  return clocks;
}

}  // namespace tcc::autotune
