#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_unpool2d {

OpDef make() {
  OpDef op = max_unpool_op(2);
  op.samples = {
      {.inputs = {{DType::f32, {2, 3, 3, 4}}, {DType::i64, {2, 3, 3, 4}}},
       .attrs = {{"kernel_size", 2}},
       .int_hi = 48},
      {.inputs = {{DType::f16, {1, 2, 3, 3}}, {DType::i64, {1, 2, 3, 3}}},
       .attrs = {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}},
       .int_hi = 25},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_unpool2d
