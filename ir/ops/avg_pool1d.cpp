#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_avg_pool1d {

OpDef make() {
  OpDef op = avg_pool_op(1);
  op.samples = {
      {{{DType::f32, {2, 3, 9}}}, {{"kernel_size", 2}}},
      {{{DType::f32, {3, 10}}},
       {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}, {"ceil_mode", true}}},
      {{{DType::f32, {1, 1, 7}}},
       {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}, {"count_include_pad", false}}},
      {{{DType::f32, {2, 1, 1}}}, {{"kernel_size", 1}}},
      {{{DType::f16, {2, 8, 16}}}, {{"kernel_size", 4}, {"stride", 3}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_avg_pool1d
