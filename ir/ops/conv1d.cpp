#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv1d {

OpDef make() {
  OpDef op = conv_op(1);
  op.samples = {
      {{{DType::f32, {2, 3, 11}}, {DType::f32, {5, 3, 3}}, {DType::f32, {5}}}},
      {{{DType::f32, {3, 11}}, {DType::f32, {6, 1, 3}}, {DType::f32, {6}}},
       {{"groups", 3}, {"padding", 1}}},
      {{{DType::f32, {1, 2, 9}}, {DType::f32, {4, 2, 4}}}, {{"auto_pad", "same"}, {"dilation", 2}}},
      {{{DType::f32, {1, 2, 1}}, {DType::f32, {4, 2, 1}}}},
      {{{DType::f16, {2, 8, 32}}, {DType::f16, {16, 8, 5}}, {DType::f16, {16}}},
       {{"stride", 2}, {"padding", 2}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv1d
