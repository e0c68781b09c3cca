// Reads clocks and power of NVIDIA GPUs from NVML (libnvidia-ml.so.1, opened at run time).
#pragma once

#include <string>

#include "autotune/bench.h"

namespace tcc::autotune {

// Reads the current clocks of the GPU at a PCI address ("0000:3b:00.0"). All are unknown where NVML
// is missing or does not know the address. Thread-safe.
Clocks read_clocks(const std::string& pci_address);
// Returns the highest clock of the GPU's SMs in MHz; 0 where it is not known.
double highest_sm_mhz(const std::string& pci_address);

}  // namespace tcc::autotune
