#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_log_softmax {

OpDef make() {
  return softmax_op(
      "log_softmax",
      "x minus the log of the sum of exp(x) along dim; torch.nn.functional.log_softmax",
      [](Builder& b, const ShiftedExp& e) { return b.sub(e.shifted, b.unary("log", e.sum)); });
}

}  // namespace tcc::ir::ops::op_log_softmax
