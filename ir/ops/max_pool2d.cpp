#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_pool2d {

OpDef make() {
  OpDef op = max_pool_op(2);
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"kernel_size", 2}}},
      {{{DType::f32, {1, 4, 8, 8}}}, {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}},
      {{{DType::f32, {3, 7, 6}}},
       {{"kernel_size", ints({3, 2})},
        {"stride", ints({2, 3})},
        {"padding", ints({1, 0})},
        {"ceil_mode", true}}},
      {{{DType::f32, {1, 2, 9, 9}}},
       {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}, {"dilation", 2}}},
      {{{DType::f32, {1, 2, 5, 5}}},
       {{"kernel_size", 2}, {"padding", 1}, {"ceil_mode", true}, {"dilation", 2}}},
      {{{DType::f32, {1, 2, 6, 7}}},
       {{"kernel_size", 3}, {"stride", 2}, {"padding", ints({0, 2, 1, 0})}}},
      {{{DType::f32, {0, 2, 5, 5}}}, {{"kernel_size", 2}}},
      {{{DType::f32, {1, 3, 1, 1}}}, {{"kernel_size", 1}}},
      {{{DType::f16, {2, 8, 8, 8}}}, {{"kernel_size", 2}}},
      {{{DType::bf16, {1, 4, 6, 6}}}, {{"kernel_size", 3}, {"stride", 2}}},
      {{{DType::f64, {1, 2, 6, 6}}}, {{"kernel_size", 2}}},
      {{{DType::i32, {1, 2, 6, 6}}}, {{"kernel_size", 3}, {"padding", 1}}, -2, 2, -50, 50},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool2d
