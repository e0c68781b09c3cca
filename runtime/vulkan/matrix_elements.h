// Which elements of a cooperative matrix each invocation holds. VK_KHR_cooperative_matrix leaves
// that to drivers, so that the device is asked, by a kernel.
#pragma once

#include <vector>

#include "runtime/device.h"

namespace tcc::runtime::vulkan {

// Returns the device's units of kind exec::kFragmentUnit, beside those of kind "coopmat". Their
// sums have the order of A: element e is in the row and column of A's element e. Runs a kernel
// where it has units that may be; where that fails, there are none.
std::vector<exec::MatrixUnit> find_fragment_units(Device& device);

}  // namespace tcc::runtime::vulkan
