#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_amin {

OpDef make() {
  OpDef op = reduce_op("amin", ReduceKind::min,
                       "Minimum over dim, all dims by default; NaN wins; of nothing, if "
                       "allow_empty, inf or the highest integer; torch.amin");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}}},
      {{{DType::f32, {1, 257}}}, {}},
      {{{DType::f32, {0, 3}}}, {{"dim", ints({1})}}},
      {{{DType::f16, {17, 70}}}, {{"dim", ints({0})}}},
      {{{DType::bf16, {4, 9}}}, {{"dim", ints({1})}}},
      {{{DType::f64, {3, 10}}}, {{"dim", ints({1})}}},
      {{{DType::i32, {6, 13}}}, {{"dim", ints({1})}}, -2, 2, -50, 50},
      {{{DType::u8, {6, 13}}}, {{"dim", ints({0})}}},
      {{{DType::i64, {5, 3}}}, {}, -2, 2, -50, 50},
      {{{DType::f32, {3, 0}}}, {{"dim", ints({1})}, {"allow_empty", true}}},
      {{{DType::i16, {0, 3}}}, {{"dim", ints({0})}, {"allow_empty", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_amin
