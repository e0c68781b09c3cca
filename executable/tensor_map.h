// A tile view of a buffer for the copy engine of CUDA devices from sm_90 on (TMA): the host encodes
// it when the kernel is bound to addresses, and it is passed after the buffers.
#pragma once

#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/symint.h"

namespace tcc::exec {

struct TensorMap {
  std::string name;  // of the kernel's parameter
  int argument = 0;  // whose buffer is viewed
  DType dtype = DType::bf16;
  ir::SymInt offset = 0;            // elements from the buffer's start; a multiple of 16 bytes
  std::vector<ir::SymInt> dims;     // elements, innermost first; 1 to 5. Beyond them zeros are read
  std::vector<ir::SymInt> strides;  // bytes, of all dims but the innermost; multiples of 16
  std::vector<int> box;             // elements of one load, in the order of dims; each at most 256
  int swizzle = 128;                // bytes of a row of the tile in shared memory: 0, 32, 64 or 128
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

}  // namespace tcc::exec
