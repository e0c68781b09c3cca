#include "ir/ops/_blocks.h"

namespace tcc::ir::ops::op_depth_to_space {

OpDef make() {
  OpDef op;
  op.name = "depth_to_space";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"block_size", AttrType::integer, std::nullopt},
              {"mode", AttrType::text, std::string("DCR"), {"DCR", "CRD"}}};
  op.doc =
      "x [N, C, H, W] with channels as the elements of blocks: channels are [block, C] in mode DCR "
      "and [C, block] in mode CRD, which is pixel_shuffle; ONNX's DepthToSpace";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {channels_to_space_type(context, "block_size", 4)};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {channels_to_space(b, node.inputs[0], node.attr<int64_t>("block_size"),
                              node.attr<std::string>("mode") == "DCR")};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {2, 8, 3, 5}}}, .attrs = {{"block_size", int64_t{2}}}},
                {.inputs = {{DType::f32, {1, 9, 2, 1}}},
                 .attrs = {{"block_size", int64_t{3}}, {"mode", "CRD"}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_depth_to_space
