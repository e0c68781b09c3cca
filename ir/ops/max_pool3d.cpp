#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_pool3d {

OpDef make() {
  OpDef op = max_pool_op(3);
  op.samples = {
      {{{DType::f32, {1, 2, 4, 5, 6}}}, {{"kernel_size", 2}}},
      {{{DType::f32, {2, 3, 5, 4, 3}}},
       {{"kernel_size", ints({3, 2, 1})},
        {"stride", ints({2, 1, 1})},
        {"padding", ints({1, 1, 0})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool3d
