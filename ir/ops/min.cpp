#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_min {

OpDef make() {
  return extremum_op("min",
                     "Smallest elements along dim and their indices (of the first among equals); "
                     "without dim, the one minimum; torch.min",
                     "amin", "argmin");
}

}  // namespace tcc::ir::ops::op_min
