#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_pool1d_with_indices {

OpDef make() {
  OpDef op = max_pool_with_indices_op(1);
  op.samples = {
      {{{DType::f32, {2, 3, 9}}}, {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}},
      {{{DType::bf16, {2, 3, 9}}},
       {{"kernel_size", 2}, {"padding", ints({0, 1})}, {"ceil_mode", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool1d_with_indices
