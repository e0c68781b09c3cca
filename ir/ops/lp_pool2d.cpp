#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_lp_pool2d {

OpDef make() {
  OpDef op = lp_pool_op(2);
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"kernel_size", 2}, {"norm_type", 2.0}}},
      {{{DType::f32, {1, 2, 6, 6}}},
       {{"kernel_size", 3}, {"norm_type", 3.0}, {"absolute", true}, {"dilation", 2}}},
      {{{DType::f16, {1, 2, 6, 6}}}, {{"kernel_size", 3}, {"norm_type", 1.0}, {"absolute", true}}},
      {{{DType::f32, {1, 2, 6, 6}}}, {{"kernel_size", 3}, {"norm_type", 4.0}, {"ceil_mode", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_lp_pool2d
