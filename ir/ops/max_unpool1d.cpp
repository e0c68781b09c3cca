#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_max_unpool1d {

OpDef make() {
  OpDef op = max_unpool_op(1);
  op.samples = {
      {.inputs = {{DType::f32, {2, 3, 4}}, {DType::i64, {2, 3, 4}}}, .attrs = {{"kernel_size", 2}}},
      {.inputs = {{DType::f32, {3, 4}}, {DType::i64, {3, 4}}},
       .attrs = {{"kernel_size", 2}, {"output_size", ints({9})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_unpool1d
