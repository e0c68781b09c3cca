#include "ir/builder.h"
#include "ir/ops/_pooling.h"

namespace tcc::ir::ops::op_adaptive_avg_pool1d {

OpDef make() {
  OpDef op = adaptive_pool_op(ReduceKind::sum, 1);
  op.samples = {
      {{{DType::f32, {2, 3, 9}}}, {{"output_size", 4}}},
      {{{DType::f32, {3, 10}}}, {{"output_size", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_adaptive_avg_pool1d
