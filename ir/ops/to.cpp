#include <optional>

#include "ir/builder.h"

namespace tcc::ir::ops {

OpDef make_to() {
  OpDef op;
  op.name = "to";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dtype", AttrType::dtype, std::nullopt}};
  op.doc = "x as another dtype, as `cast`; torch.Tensor.to";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{context.node.attr<DType>("dtype"), context.inputs[0]->shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.op("cast", {node.inputs[0]}, node.attrs)};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {3, 5}}}, .attrs = {{"dtype", DType::bf16}}}};
  return op;
}

}  // namespace tcc::ir::ops
