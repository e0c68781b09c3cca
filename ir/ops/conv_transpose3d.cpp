#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv_transpose3d {

OpDef make() {
  OpDef op = conv_transpose_op(3);
  op.samples = {
      {{{DType::f32, {1, 3, 2, 4, 3}}, {DType::f32, {3, 4, 2, 3, 1}}, {DType::f32, {4}}}},
      {{{DType::f32, {1, 4, 2, 3, 3}}, {DType::f32, {4, 2, 2, 2, 2}}},
       {{"stride", ints({2, 1, 2})},
        {"padding", 1},
        {"groups", 2},
        {"output_padding", ints({1, 0, 1})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv_transpose3d
