#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_all {

OpDef make() {
  OpDef op = reduce_op("all", ReduceKind::all,
                       "Whether every element along dim (all dims by default) is not zero; NaN is "
                       "not zero; bool; torch.all");
  op.samples = {
      {{{DType::boolean, {5, 7}}}, {{"dim", ints({1})}}, -2, 2, 0, 2},
      {{{DType::boolean, {3, 4, 3}}}, {{"dim", ints({0, 2})}, {"keepdim", true}}, -2, 2, 0, 2},
      {{{DType::boolean, {2, 0}}}, {{"dim", ints({1})}}},
      {{{DType::i32, {40, 3}}}, {{"dim", ints({1})}}, -2, 2, 0, 3},
      {{{DType::f32, {9, 2}}}, {}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_all
