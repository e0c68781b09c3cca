#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_l1_loss {

OpDef make() {
  return difference_loss(
      "l1_loss",
      "Absolute differences of x and target, their mean by default; torch.nn.functional.l1_loss",
      [](Builder& b, Value* difference) { return b.unary("abs", difference); });
}

}  // namespace tcc::ir::ops::op_l1_loss
