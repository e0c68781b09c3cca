#include "ir/ops/_reduction.h"

namespace tcc::ir::ops {

OpDef make_cumsum() {
  OpDef op = scan_op(
      "cumsum", ReduceKind::sum,
      "Sums of x up to and with each position along dim; integers and bool give i64; torch.cumsum");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", 1}}},     {{{DType::f32, {33, 4}}}, {{"dim", 0}}},
      {{{DType::f32, {2, 1, 6}}}, {{"dim", 1}}},  {{{DType::f32, {3, 0}}}, {{"dim", -1}}},
      {{{DType::f32, {2, 1500}}}, {{"dim", -1}}}, {{{DType::f16, {3, 20}}}, {{"dim", 1}}},
      {{{DType::i32, {4, 40}}}, {{"dim", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops
