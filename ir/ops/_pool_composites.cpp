// Pools that are composed of others: with indices, by a norm, and the way back.
#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_pooling.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// The attributes of `node` that pool_attrs() names.
Attrs window_attrs(const Node& node) {
  Attrs attrs;
  for (const AttrDef& def : pool_attrs())
    if (node.has_attr(def.name)) attrs[def.name] = node.attrs.find(def.name)->second;
  return attrs;
}

// ---- lp_pool

std::vector<Value*> compose_lp_pool(Builder& b, const Node& node, int spatial) {
  Value* x = b.compute(node.inputs[0]);
  const double p = number_attr(node, "norm_type");
  Attrs attrs = window_attrs(node);
  attrs["divisor_override"] = int64_t{1};
  const auto sum = [&](Value* terms) {
    return b.op(str("avg_pool", spatial, "d"), {terms}, attrs);
  };
  const auto power = [&](Value* base, double exponent) {
    return exponent == 1     ? base
           : exponent == 2   ? b.unary("square", base)
           : exponent == 0.5 ? b.unary("sqrt", base)
                             : b.op("pow", {base, b.scalar(base->dtype(), exponent)});
  };
  Value* terms = node.attr<bool>("absolute") ? power(b.unary("abs", x), p) : power(x, p);
  // A sum of odd powers may be negative: it has no root, and PyTorch takes 0.
  Value* total = sum(terms);
  if (!node.attr<bool>("absolute")) total = b.unary("relu", total);
  return {b.cast(power(total, 1 / p), node.inputs[0]->dtype())};
}

// ---- max_unpool

Shape unpooled_shape(const InferContext& context, int spatial) {
  const auto kernel = spatial_ints(context, "kernel_size", spatial, 1);
  const auto stride = spatial_ints(context, "stride", spatial, 1, kernel);
  const auto padding = spatial_padding(context, "padding", spatial);
  const auto given = symint_list(context.node, "output_size");
  context.require(given.empty() || given.size() == static_cast<size_t>(spatial),
                  str("output_size must have ", spatial, " entries, not ", given.size()));
  Shape out = context.inputs[0]->shape;
  for (size_t d = 0; d < kernel.size(); ++d) {
    SymInt& extent = out[out.size() - kernel.size() + d];
    extent = given.empty() ? checked_size(context, extent - 1, stride[d]) + kernel[d] -
                                 (padding.lo[d] + padding.hi[d])
                           : given[d];
    context.require(extent.range().hi >= 1, str("a spatial dim would become ", extent));
  }
  return checked_shape(context, std::move(out));
}

Shape planes(const Shape& shape, int spatial) {
  const auto leading =
      std::span<const SymInt>(shape).first(shape.size() - static_cast<size_t>(spatial));
  return {product(leading), product(spatial_dims(shape, spatial))};
}

}  // namespace

OpDef max_pool_with_indices_op(int spatial) {
  OpDef op;
  op.name = str("max_pool", spatial, "d_with_indices");
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.results = {"out", "indices"};
  op.attrs = pool_attrs();
  op.doc =
      str("max_pool", spatial, "d and where each maximum lies: its row-major place among the last ",
          spatial, " dims of x; torch.nn.functional.max_pool", spatial, "d_with_indices");
  op.infer = [spatial](const InferContext& context) -> std::vector<Type> {
    const auto out = infer_pool(context, spatial);
    return {out[0], {DType::i64, out[0].shape}};
  };
  op.compose = [spatial](Builder& b, const Node& node) -> std::vector<Value*> {
    Attrs attrs = window_attrs(node);
    Value* out = b.op(str("max_pool", spatial, "d"), {node.inputs[0]}, attrs);
    attrs["kernel_size"] = ints(spatial_ints(node, "kernel_size", spatial));
    return {out, b.op("max_pool_indices", {node.inputs[0]}, std::move(attrs))};
  };
  return op;
}

OpDef lp_pool_op(int spatial) {
  OpDef op;
  op.name = str("lp_pool", spatial, "d");
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = pool_attrs();
  op.attrs.push_back({"norm_type", AttrType::number, std::nullopt});
  // ONNX's norm is of |x|; PyTorch's of x, which differs for odd norm_type.
  op.attrs.push_back({"absolute", AttrType::boolean, false});
  op.doc = str("(sum of x^norm_type)^(1/norm_type) over windows of the last ", spatial,
               " dims of x [N, C, ...], of |x| with `absolute`; torch.nn.functional.lp_pool",
               spatial, "d");
  op.infer = [spatial](const InferContext& context) {
    require_float(context);
    context.require(number_attr(context.node, "norm_type") > 0, "norm_type must be positive");
    return infer_pool(context, spatial);
  };
  op.compose = [spatial](Builder& b, const Node& node) {
    return compose_lp_pool(b, node, spatial);
  };
  return op;
}

OpDef max_unpool_op(int spatial) {
  OpDef op;
  op.name = str("max_unpool", spatial, "d");
  op.kind = OpKind::composite;
  op.operands = {"x", "indices"};
  op.attrs = {{"kernel_size", AttrType::ints, std::nullopt, {}, true},
              {"stride", AttrType::ints, ints({}), {}, true},  // none: the kernel's size
              {"padding", AttrType::ints, ints({0}), {}, true},
              {"output_size", AttrType::ints, ints({})}};  // spatial; none: from the window
  op.doc = str("Zeros with x [N, C, ...] written at `indices`, places in the last ", spatial,
               " dims of the result; torch.nn.functional.max_unpool", spatial, "d");
  op.infer = [spatial](const InferContext& context) -> std::vector<Type> {
    require_image(context, 0, spatial);
    context.require(context.inputs[0]->dtype != DType::boolean, "x must be a tensor of numbers");
    context.require(context.inputs[1]->dtype == DType::i64, "indices must be i64");
    require_shape(context, 1, context.inputs[0]->shape, "x");
    return {{context.inputs[0]->dtype, unpooled_shape(context, spatial)}};
  };
  op.compose = [spatial](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const Shape& out = node.outputs[0]->shape();
    const Shape flat = planes(x->shape(), spatial);
    Value* zeros = b.splat(x->dtype(), planes(out, spatial), 0);
    Value* written = b.op("scatter", {zeros, b.reshape(node.inputs[1], flat), b.reshape(x, flat)},
                          {{"dim", int64_t{1}}});
    return {b.reshape(written, out)};
  };
  return op;
}

}  // namespace tcc::ir::ops
