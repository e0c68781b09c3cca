#include "ir/ops/_scan.h"

namespace tcc::ir::ops::op_cumsum {

OpDef make() {
  OpDef op = scan_op("cumsum", ReduceKind::sum,
                     "Sums of x up to and with each position along dim, without it if `exclusive`, "
                     "from the end if `reverse`; integers and bool give i64; torch.cumsum",
                     -2, 2);
  op.samples.push_back({{{DType::f32, {2, 1500}}}, {{"dim", -1}}});
  op.samples.push_back({{{DType::i32, {4, 40}}}, {{"dim", 1}}});
  return op;
}

}  // namespace tcc::ir::ops::op_cumsum
