// Reads a device's properties from the driver, as tcc's Target. This needs no context.
#pragma once

#include <cstdint>
#include <string>

#include "executable/target.h"
#include "runtime/cuda/driver_api.h"

namespace tcc::runtime::cuda {

struct Properties {
  exec::Target target;
  int64_t memory_bytes = 0;
  std::string pci_address;

  std::string description() const;  // "NVIDIA H200, sm_90a, 132 SMs, 139.8 GiB"
};

// Throws Error(device) when the driver does not answer.
Properties read_properties(const DriverApi& api, CUdevice device);

}  // namespace tcc::runtime::cuda
