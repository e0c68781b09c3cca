#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_sum {

OpDef make() {
  OpDef op =
      reduce_op("sum", ReduceKind::sum,
                "Sum over dim, all dims by default; integers and bool sum to i64; torch.sum");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}}},
      {{{DType::f32, {1, 257}}}, {}},
      {{{DType::f32, {64, 1000}}}, {{"dim", ints({0})}}},
      {{{DType::f32, {3, 0}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {0, 3}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {}}}, {}},
      {{{DType::f16, {17, 130}}}, {{"dim", ints({1})}}},
      {{{DType::bf16, {9, 40}}}, {{"dim", ints({0})}}},
      {{{DType::f64, {6, 31}}}, {{"dim", ints({1})}}},
      {{{DType::i32, {4, 19}}}, {{"dim", ints({1})}}},
      {{{DType::u8, {40}}}, {}},
      {{{DType::boolean, {7, 12}}}, {{"dim", ints({1})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_sum
