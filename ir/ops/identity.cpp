#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_identity {

OpDef make() {
  OpDef op = regrouping("identity", "x itself; torch.nn.Identity", {},
                        [](const InferContext& context) { return context.inputs[0]->shape; });
  op.samples = {{.inputs = {{DType::f32, {3, 5}}}}, {.inputs = {{DType::i64, Shape{}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_identity
