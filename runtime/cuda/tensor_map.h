// The encoding of tensor maps (scheduler/tensor_map.h).
#pragma once

#include "runtime/cuda/context.h"
#include "runtime/device.h"
#include "scheduler/tensor_map.h"

namespace tcc::runtime::cuda {

// `map` over the buffer at `address` (0 where the buffer is empty). Needs no current context.
// Throws Error(device) when the driver refuses it, an address that is not a multiple of 16
// included.
CUtensorMap encode(const Context& context, const sched::TensorMap& map, DeviceAddress address);

}  // namespace tcc::runtime::cuda
