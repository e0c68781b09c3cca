#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_softmax {

OpDef make() {
  return softmax_op("softmax", "exp(x) over its sum along dim; torch.nn.functional.softmax",
                    [](Builder& b, const ShiftedExp& e) {
                      // One division per row, not per element.
                      return b.mul(e.exp, b.unary("reciprocal", e.sum));
                    });
}

}  // namespace tcc::ir::ops::op_softmax
