#include "ir/ops/_reduction.h"

namespace tcc::ir::ops {

OpDef make_min() {
  return extremum_op("min",
                     "Smallest elements along dim and their indices (of the first among equals); "
                     "without dim, the one minimum; torch.min",
                     "amin", "argmin");
}

}  // namespace tcc::ir::ops
