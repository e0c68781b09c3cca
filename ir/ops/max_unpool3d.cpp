#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops {

OpDef make_max_unpool3d() {
  OpDef op = max_unpool_op(3);
  op.samples = {
      {.inputs = {{DType::f32, {1, 2, 2, 2, 2}}, {DType::i64, {1, 2, 2, 2, 2}}},
       .attrs = {{"kernel_size", 2}},
       .int_hi = 64},
  };
  return op;
}

}  // namespace tcc::ir::ops
