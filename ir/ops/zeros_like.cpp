#include "ir/ops/_creation.h"

namespace tcc::ir::ops::op_zeros_like {

OpDef make() {
  return filling_like(
      "zeros_like", [](const Node&) { return 0; },
      "A tensor of zeros of the type of x; torch.zeros_like");
}

}  // namespace tcc::ir::ops::op_zeros_like
