// Vulkan does not report throughput and cache sizes. The analytic model uses these guesses.
//
// These are priors for ranking configurations before anything was measured; no result depends on
// them.
#pragma once

#include "executable/target.h"

namespace tcc::runtime::vulkan {

enum class DeviceClass { cpu, integrated, discrete };

// Fills the analytic-model fields of `target` from its device name, vendor and class.
// `compute_units` is the driver's number, 0 when it gives none.
void guess_throughput(exec::Target& target, DeviceClass device_class, int compute_units);

}  // namespace tcc::runtime::vulkan
