#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_pool3d_with_indices {

OpDef make() {
  OpDef op = max_pool_with_indices_op(3);
  op.samples = {
      {{{DType::f32, {1, 2, 4, 5, 6}}}, {{"kernel_size", 2}, {"stride", 1}, {"padding", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool3d_with_indices
