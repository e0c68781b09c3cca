#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv_transpose1d {

OpDef make() {
  OpDef op = conv_transpose_op(1);
  op.samples = {
      {{{DType::f32, {2, 3, 6}}, {DType::f32, {3, 4, 3}}, {DType::f32, {4}}}},
      {{{DType::f32, {1, 4, 5}}, {DType::f32, {4, 2, 4}}},
       {{"stride", 2}, {"padding", 1}, {"groups", 2}}},
      {{{DType::f32, {3, 5}}, {DType::f32, {3, 2, 3}}, {DType::f32, {2}}},
       {{"stride", 3}, {"output_padding", 2}, {"dilation", 2}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv_transpose1d
