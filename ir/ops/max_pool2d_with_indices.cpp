#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_pool2d_with_indices {

OpDef make() {
  OpDef op = max_pool_with_indices_op(2);
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"kernel_size", 2}}},
      {{{DType::f32, {3, 7, 6}}}, {{"kernel_size", ints({3, 2})}, {"stride", 1}, {"padding", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool2d_with_indices
