#include "ir/ops/_reduction.h"

namespace tcc::ir::ops {

OpDef make_cumprod() {
  OpDef op = scan_op("cumprod", ReduceKind::prod,
                     "Products of x up to and with each position along dim; integers and bool give "
                     "i64; torch.cumprod");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", 1}}, 0.5, 1.5},
      {{{DType::f32, {33, 4}}}, {{"dim", 0}}, 0.5, 1.5},
      {{{DType::f32, {2, 1, 6}}}, {{"dim", 1}}, 0.5, 1.5},
      {{{DType::f32, {3, 0}}}, {{"dim", -1}}},
      {{{DType::f32, {2, 20}}}, {{"dim", -1}}, 0.5, 1.5},
      {{{DType::f16, {3, 20}}}, {{"dim", 1}}, 0.5, 1.5},
      {{{DType::i32, {4, 9}}}, {{"dim", 1}}, -2, 2, 1, 4},
  };
  return op;
}

}  // namespace tcc::ir::ops
