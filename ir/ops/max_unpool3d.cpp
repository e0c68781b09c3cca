#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_unpool3d {

OpDef make() {
  OpDef op = max_unpool_op(3);
  op.samples = {
      {.inputs = {{DType::f32, {1, 2, 2, 2, 2}}, {DType::i64, {1, 2, 2, 2, 2}}},
       .attrs = {{"kernel_size", 2}},
       .int_hi = 64},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_unpool3d
