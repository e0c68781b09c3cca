#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_lp_pool1d {

OpDef make() {
  OpDef op = lp_pool_op(1);
  op.samples = {
      {{{DType::f32, {2, 3, 9}}}, {{"kernel_size", 3}, {"norm_type", 2.0}, {"stride", 2}}},
      {{{DType::f32, {2, 3, 9}}},
       {{"kernel_size", 3}, {"norm_type", 3.0}, {"absolute", true}, {"padding", ints({2, 1})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_lp_pool1d
