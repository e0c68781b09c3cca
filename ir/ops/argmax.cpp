#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_argmax {

OpDef make() {
  OpDef op = reduce_op("argmax", ReduceKind::argmax,
                       "Index along dim of the largest element, of the first among equals; NaN "
                       "wins; without dim, of the flattened x; torch.argmax");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {33, 4}}}, {{"dim", ints({0})}, {"keepdim", true}}},
      {{{DType::f32, {6, 50}}}, {}},
      {{{DType::f32, {1, 300}}}, {{"dim", ints({-1})}}},
      {{{DType::f16, {5, 90}}}, {{"dim", ints({1})}}},
      {{{DType::i32, {8, 20}}}, {{"dim", ints({1})}}, -2, 2, 0, 5},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_argmax
