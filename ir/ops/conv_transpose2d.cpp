#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv_transpose2d {

OpDef make() {
  OpDef op = conv_transpose_op(2);
  op.samples = {
      {{{DType::f32, {1, 3, 4, 5}}, {DType::f32, {3, 2, 3, 3}}},
       {{"padding", ints({0, 1, 2, -1})}, {"stride", 2}}},
      {{{DType::f32, {2, 3, 4, 5}}, {DType::f32, {3, 4, 3, 3}}, {DType::f32, {4}}}},
      {{{DType::f32, {1, 4, 5, 5}}, {DType::f32, {4, 3, 2, 2}}, {DType::f32, {3}}},
       {{"stride", 2}}},
      {{{DType::f32, {1, 4, 5, 4}}, {DType::f32, {4, 2, 3, 3}}},
       {{"stride", ints({2, 3})}, {"padding", 1}, {"output_padding", 1}, {"groups", 2}}},
      {{{DType::f32, {1, 2, 4, 4}}, {DType::f32, {2, 2, 2, 2}}}, {{"padding", 1}, {"dilation", 2}}},
      {{{DType::f16, {1, 8, 6, 6}}, {DType::f16, {8, 4, 4, 4}}, {DType::f16, {4}}},
       {{"stride", 2}, {"padding", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv_transpose2d
