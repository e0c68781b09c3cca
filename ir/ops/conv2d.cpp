#include "ir/ops/_convolution.h"

namespace tcc::ir::ops::op_conv2d {

OpDef make() {
  OpDef op = conv_op(2);
  op.samples = {
      {{{DType::f32, {1, 3, 7, 6}}, {DType::f32, {4, 3, 3, 2}}},
       {{"padding", ints({0, 2, 1, 0})}, {"stride", 2}}},
      {{{DType::f32, {2, 3, 7, 9}}, {DType::f32, {4, 3, 3, 3}}, {DType::f32, {4}}}},
      {{{DType::f32, {1, 3, 15, 15}}, {DType::f32, {8, 3, 7, 7}}, {DType::f32, {8}}},
       {{"stride", 2}, {"padding", 3}}},
      {{{DType::f32, {2, 4, 8, 8}}, {DType::f32, {6, 2, 3, 1}}},
       {{"stride", ints({2, 1})}, {"padding", ints({1, 0})}, {"groups", 2}}},
      {{{DType::f32, {1, 8, 6, 6}}, {DType::f32, {8, 1, 3, 3}}, {DType::f32, {8}}},
       {{"groups", 8}, {"padding", 1}}},
      {{{DType::f32, {1, 3, 9, 9}}, {DType::f32, {2, 3, 3, 3}}},
       {{"dilation", ints({2, 3})}, {"padding", 2}}},
      {{{DType::f32, {3, 5, 5}}, {DType::f32, {2, 3, 2, 2}}, {DType::f32, {2}}},
       {{"auto_pad", "same"}}},
      {{{DType::f32, {0, 3, 5, 5}}, {DType::f32, {2, 3, 2, 2}}}},
      {{{DType::f32, {1, 1, 1, 1}}, {DType::f32, {1, 1, 1, 1}}}},
      {{{DType::f16, {1, 16, 10, 10}}, {DType::f16, {32, 16, 3, 3}}, {DType::f16, {32}}},
       {{"padding", 1}}},
      {{{DType::bf16, {2, 8, 6, 6}}, {DType::bf16, {8, 8, 1, 1}}}},
      {{{DType::f64, {1, 2, 6, 6}}, {DType::f64, {2, 2, 3, 3}}}},
      {{{DType::f8e5m2, {1, 16, 6, 6}}, {DType::f8e4m3, {8, 16, 3, 3}}, {DType::f16, {8}}},
       {{"out_dtype", "f16"}, {"padding", 1}}},
      {{{DType::u8, {2, 8, 9, 7}}, {DType::i8, {12, 4, 3, 3}}, {DType::i32, {12}}},
       {{"out_dtype", "i32"}, {"groups", 2}, {"padding", 1}},
       -2,
       2,
       -128,
       256},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_conv2d
