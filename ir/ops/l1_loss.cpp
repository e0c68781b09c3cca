#include "ir/ops/_norm.h"

namespace tcc::ir::ops {

OpDef make_l1_loss() {
  return difference_loss(
      "l1_loss",
      "Absolute differences of x and target, their mean by default; torch.nn.functional.l1_loss",
      [](Builder& b, Value* difference) { return b.unary("abs", difference); });
}

}  // namespace tcc::ir::ops
