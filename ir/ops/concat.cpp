#include "ir/builder.h"

namespace tcc::ir::ops::op_concat {

OpDef make() {
  OpDef op;
  op.name = "concat";
  op.kind = OpKind::composite;
  op.operands = {"xs..."};
  op.attrs = {{"dim", AttrType::integer, int64_t{0}}};
  op.doc = "`cat` by its other name; torch.concat";
  op.infer = [](const InferContext& context) { return find_op("cat")->infer(context); };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.op("cat", node.inputs, node.attrs)};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {2, 3}}, {DType::f32, {4, 3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_concat
