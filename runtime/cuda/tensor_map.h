// The encoding of tensor maps (executable/tensor_map.h).
#pragma once

#include "executable/tensor_map.h"
#include "runtime/cuda/context.h"
#include "runtime/device.h"

namespace tcc::runtime::cuda {

// Encodes `map` over the buffer at `address` (0 where the buffer is empty). This needs no current
// context. Throws Error(device) when the driver refuses it, an address that is not a multiple of 16
// included.
CUtensorMap encode(const Context& context, const exec::MapNumbers& map, DeviceAddress address);

}  // namespace tcc::runtime::cuda
