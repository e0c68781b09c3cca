// A tensor in device memory, as functions of the user's get it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.h"

namespace tcc {

// Dense and row-major, at the device's address, which is a multiple of the element's size.
struct DeviceValue {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  uint64_t address = 0;
};

}  // namespace tcc
