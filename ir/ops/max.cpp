#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_max {

OpDef make() {
  return extremum_op("max",
                     "Largest elements along dim and their indices (of the first among equals); "
                     "without dim, the one maximum; torch.max",
                     "amax", "argmax");
}

}  // namespace tcc::ir::ops::op_max
