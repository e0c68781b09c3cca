#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_gt {

OpDef make() {
  OpDef op = comparison("gt", Comparison::gt, "a > b, as bool; torch.gt");
  op.samples = binary_samples() + binary_int_samples(-2, 3) + int_float_samples();
  op.samples.push_back(binary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_gt
