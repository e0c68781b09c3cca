#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_reduction.h"
#include "support/error.h"

namespace tcc::ir::ops::op_affine_grid {
namespace {

std::vector<Type> infer(const InferContext& context) {
  require_float(context);
  const Type& theta = *context.inputs[0];
  const auto& size = context.node.attr<std::vector<SymInt>>("size");
  context.require(size.size() == 4 || size.size() == 5, "size must be [N, C, (D,) H, W]");
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  require_shape(context, 0, {size[0], SymInt(spatial), SymInt(spatial + 1)},
                "[N, spatial dims, spatial dims + 1]");
  Shape out = {size[0]};
  out.insert(out.end(), size.begin() + 2, size.end());
  out.push_back(spatial);
  return {{theta.dtype, checked_shape(context, std::move(out))}};
}

// The elements' centers along a dim, in units where it reaches from -1 to 1: from edge to edge or,
// with align_corners, from center to center.
Value* centers(Builder& b, const SymInt& extent, bool align, DType dtype) {
  Value* k = b.cast(b.op("iota", {}, {{"size", Shape{extent}}, {"dim", int64_t{0}}}), dtype);
  Value* two = b.scalar(dtype, 2);
  Value* one = b.scalar(dtype, 1);
  if (align) {
    if (extent.is(1)) return b.splat(dtype, {extent}, 0);  // as PyTorch
    return b.sub(b.div(b.mul(k, two), size_scalar(b, extent - 1, dtype)), one);
  }
  return b.sub(b.div(b.add(b.mul(k, two), one), size_scalar(b, extent, dtype)), one);
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* theta = b.compute(node.inputs[0]);
  const auto& size = node.attr<std::vector<SymInt>>("size");
  const size_t spatial = size.size() - 2;
  // Row j of theta by the position (..., y, x, 1): a few products per element.
  const auto column = [&](size_t k) {
    Shape shape(spatial + 2, SymInt(1));
    shape[0] = size[0];
    shape.back() = static_cast<int64_t>(spatial);
    const auto at = static_cast<int64_t>(k);
    return b.reshape(b.slice(theta, 2, at, at + 1), shape);
  };
  Value* sum = column(spatial);
  for (size_t k = 0; k < spatial; ++k) {
    const size_t d = spatial - 1 - k;  // x is the last dim
    Shape shape(spatial + 1, SymInt(1));
    shape[d] = size[d + 2];
    Value* position =
        b.reshape(centers(b, size[d + 2], node.attr<bool>("align_corners"), theta->dtype()), shape);
    sum = b.add(sum, b.mul(column(k), position));
  }
  return {b.cast(b.expand(sum, node.outputs[0]->shape()), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "affine_grid";
  op.kind = OpKind::composite;
  op.operands = {"theta"};
  op.attrs = {{"size", AttrType::ints, std::nullopt}, {"align_corners", AttrType::boolean, false}};
  op.doc =
      "The grid for grid_sample of the maps theta [N, 2, 3] or [N, 3, 4] over images of `size` [N, "
      "C, ...]; torch.nn.functional.affine_grid";
  op.infer = infer;
  op.compose = compose;
  op.samples = {
      {{{DType::f32, {2, 2, 3}}}, {{"size", ints({2, 1, 5, 6})}}},
      {{{DType::f32, {2, 3, 4}}}, {{"size", ints({2, 1, 3, 4, 5})}, {"align_corners", true}}},
      {{{DType::f16, {1, 2, 3}}}, {{"size", ints({1, 1, 1, 7})}, {"align_corners", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_affine_grid
