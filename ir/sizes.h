// Sizes of values whose dims are constants.
#pragma once

#include "ir/graph.h"

namespace tcc::ir {

inline int64_t numel(const Value* value) {
  int64_t elements = 1;
  for (const int64_t dim : const_shape(*value)) elements *= dim;
  return elements;
}

}  // namespace tcc::ir
