#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_lp_pool3d {

OpDef make() {
  OpDef op = lp_pool_op(3);
  op.samples = {
      {{{DType::f32, {1, 2, 4, 5, 6}}},
       {{"kernel_size", 2}, {"norm_type", 2.0}, {"absolute", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_lp_pool3d
