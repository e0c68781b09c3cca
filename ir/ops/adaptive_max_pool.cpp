#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_adaptive_max_pool {

OpDef make() {
  OpDef op = adaptive_pool_op(ReduceKind::max);
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"output_size", ints({3, 4})}}},
      {{{DType::f32, {2, 3, 8, 9}}}, {{"output_size", ints({4, 3})}}},
      {{{DType::f32, {2, 10}}}, {{"output_size", ints({7})}}},
      {{{DType::f32, {1, 2, 3, 4}}}, {{"output_size", ints({5, 6})}}},
      {{{DType::f16, {2, 4, 10, 6}}}, {{"output_size", ints({4, 6})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_adaptive_max_pool
