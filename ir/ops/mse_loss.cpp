#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_mse_loss {

OpDef make() {
  return difference_loss(
      "mse_loss",
      "Squared differences of x and target, their mean by default; torch.nn.functional.mse_loss",
      [](Builder& b, Value* difference) { return b.mul(difference, difference); });
}

}  // namespace tcc::ir::ops::op_mse_loss
