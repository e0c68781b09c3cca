#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_prod {

OpDef make() {
  OpDef op = reduce_op(
      "prod", ReduceKind::prod,
      "Product over dim, all dims by default; integers and bool multiply to i64; torch.prod");
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}, 0.5, 1.5},
      {{{DType::f32, {3, 4, 5}}}, {{"dim", ints({0, 2})}, {"keepdim", true}}, 0.5, 1.5},
      {{{DType::f32, {2, 0}}}, {{"dim", ints({1})}}},
      {{{DType::f16, {6, 9}}}, {{"dim", ints({0})}}, 0.5, 1.5},
      {{{DType::i32, {4, 11}}}, {{"dim", ints({1})}}, -2, 2, 1, 4},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_prod
