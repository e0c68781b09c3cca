#include "ir/ops/_blocks.h"

namespace tcc::ir::ops::op_space_to_depth {

OpDef make() {
  OpDef op;
  op.name = "space_to_depth";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"block_size", AttrType::integer, std::nullopt}};
  op.doc =
      "x [N, C, H, W] with the elements of every block as channels [block, C]; ONNX's SpaceToDepth";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {space_to_channels_type(context, "block_size", 4)};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {space_to_channels(b, node.inputs[0], node.attr<int64_t>("block_size"), true)};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {2, 3, 6, 4}}}, .attrs = {{"block_size", int64_t{2}}}},
                {.inputs = {{DType::f16, {1, 1, 3, 6}}}, .attrs = {{"block_size", int64_t{3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_space_to_depth
