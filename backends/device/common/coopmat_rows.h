// Rows in shared memory of kernels on cooperative matrices. Templates include this file; device
// sources get the numbers.
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

constexpr Int kChunkBytes = 16;  // of a load

// A row of elements takes an odd number of chunks, so that neighbouring rows lie in different
// banks.
constexpr Int chunks_of_elements(Int elements, Int element_bytes) {
  return elements * element_bytes / kChunkBytes | 1;
}
// A row of sums of 4 bytes takes one chunk more than it has.
constexpr Int chunks_of_sums(Int sums) { return sums * 4 / kChunkBytes + 1; }

}  // namespace tcc::kernels
