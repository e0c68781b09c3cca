#include "ir/ops/_creation.h"

namespace tcc::ir::ops::op_ones_like {

OpDef make() {
  return filling_like(
      "ones_like", [](const Node&) { return 1; },
      "A tensor of ones of the type of x; torch.ones_like");
}

}  // namespace tcc::ir::ops::op_ones_like
