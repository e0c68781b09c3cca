#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv3d {

OpDef make() {
  OpDef op = conv_op(3);
  op.samples = {
      {{{DType::f32, {1, 2, 4, 5, 6}}, {DType::f32, {3, 2, 2, 3, 1}}, {DType::f32, {3}}}},
      {{{DType::f32, {2, 2, 4, 4, 4}}, {DType::f32, {4, 1, 3, 3, 3}}},
       {{"groups", 2}, {"padding", 1}, {"stride", ints({1, 2, 2})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv3d
