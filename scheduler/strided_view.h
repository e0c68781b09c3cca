// A value of a region as it lies in memory: where views (slices, transposes, reshapes) stand
// between it and a buffer, the strides of its own dims in that buffer.
#pragma once

#include <vector>

#include "scheduler/refusal.h"
#include "scheduler/region.h"

namespace tcc::sched {

// Element `index` lies at offset + sum(index * strides), in elements from the buffer's beginning.
// A dim of one element has the stride 0.
struct StridedView {
  int buffer = 0;  // the kernel's slot
  DType dtype = DType::f32;
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

// Refuses a value that is computed, and one of whose dims has no single stride, as in a reshape
// that joins dims which a transpose put apart. Dims may be open, strides are numbers.
OrRefusal<StridedView> strided_view(const Region& region, const ir::Value* value);

}  // namespace tcc::sched
