#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_adaptive_avg_pool2d {

OpDef make() {
  OpDef op = adaptive_pool_op(ReduceKind::sum, 2);
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"output_size", 1}}},
      {{{DType::f32, {2, 3, 7, 9}}}, {{"output_size", 3}}},
      {{{DType::f32, {1, 4, 12, 8}}}, {{"output_size", ints({6, 4})}}},
      {{{DType::f32, {3, 5, 1}}}, {{"output_size", ints({2, 1})}}},
      {{{DType::f16, {2, 8, 7, 7}}}, {{"output_size", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_adaptive_avg_pool2d
