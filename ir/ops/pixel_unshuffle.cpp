#include "ir/ops/_blocks.h"

namespace tcc::ir::ops::op_pixel_unshuffle {

OpDef make() {
  OpDef op;
  op.name = "pixel_unshuffle";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"downscale_factor", AttrType::integer, std::nullopt}};
  op.doc = "[..., C, H r, W r] as [..., C r^2, H, W]; torch.nn.functional.pixel_unshuffle";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {space_to_channels_type(context, "downscale_factor", 3)};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {space_to_channels(b, node.inputs[0], node.attr<int64_t>("downscale_factor"), false)};
  };
  op.takes_f8 = true;
  op.samples = {
      {.inputs = {{DType::f32, {2, 2, 6, 4}}}, .attrs = {{"downscale_factor", int64_t{2}}}},
      {.inputs = {{DType::i32, {1, 3, 3}}}, .attrs = {{"downscale_factor", int64_t{3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_pixel_unshuffle
