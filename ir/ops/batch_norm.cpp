#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_batch_norm {
namespace {

bool is_training(const Node& node) { return node.attr<bool>("training"); }

std::vector<Type> infer_batch_norm(const InferContext& context) {
  require_float(context);
  const Type& x = *context.inputs[0];
  context.require(x.shape.size() >= 2, "x must be [N, C, ...]");
  for (size_t k = 1; k <= 4; ++k) require_shape(context, k, {x.shape[1]}, "[C]");
  if (!is_training(context.node)) return {x};
  return {x, *context.inputs[1], *context.inputs[2]};
}

// old * (1 - momentum) + current * momentum, in the old one's dtype.
Value* updated(Builder& b, const Node& node, Value* old, Value* current) {
  const double momentum = number_attr(node, "momentum");
  const DType dtype = current->dtype();
  Value* kept = b.mul(b.cast(old, dtype), b.scalar(dtype, 1 - momentum));
  return b.cast(b.add(kept, b.mul(current, b.scalar(dtype, momentum))), old->dtype());
}

// Normalises by the batch's own statistics, which also update the running ones.
std::vector<Value*> compose_training(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  std::vector<int64_t> dims = dims_from(2, x->rank());
  dims.insert(dims.begin(), 0);
  const Moments m = moments(b, x, dims);
  Value* y = scale_to_unit_variance(b, m.centered, m.variance, number_attr(node, "eps"));
  y = b.cast(affine(b, y, node.inputs[3], node.inputs[4], 1), node.inputs[0]->dtype());
  const Shape channels = {x->shape()[1]};
  Value* variance = b.reshape(m.variance, channels);
  if (node.attr<bool>("unbiased")) {
    SymInt count = x->shape()[0];
    for (size_t d = 2; d < x->shape().size(); ++d) count = count * x->shape()[d];
    variance = b.mul(variance, b.div(size_scalar(b, count, variance->dtype()),
                                     size_scalar(b, max(count - 1, SymInt(0)), variance->dtype())));
  }
  return {y, updated(b, node, node.inputs[1], b.reshape(m.mean, channels)),
          updated(b, node, node.inputs[2], variance)};
}

std::vector<Value*> compose_batch_norm(Builder& b, const Node& node) {
  if (is_training(node)) return compose_training(b, node);
  Value* x = b.compute(node.inputs[0]);
  const auto vector = [&](int k) {
    Value* value = node.inputs[static_cast<size_t>(k)];
    return value ? b.cast(value, x->dtype()) : nullptr;
  };
  // The scale of a channel is made first: with constant statistics it folds into one constant.
  Value* scale =
      b.unary("rsqrt", b.op("add", {vector(2), b.scalar(x->dtype(), number_attr(node, "eps"))}));
  if (Value* weight = vector(3)) scale = b.mul(scale, weight);
  Value* centered = b.sub(x, along_dim(b, vector(1), 1, x->rank()));
  return {b.cast(affine(b, centered, scale, vector(4), 1), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "batch_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "running_mean", "running_var", "weight?", "bias?"};
  // `momentum` is the share of the batch's statistics in the new running ones; `unbiased`: of its
  // variance with one degree of freedom taken off, as PyTorch does and ONNX does not.
  op.attrs = {{"eps", AttrType::number, 1e-5},
              {"training", AttrType::boolean, false},
              {"momentum", AttrType::number, 0.1},
              {"unbiased", AttrType::boolean, true}};
  op.results = {"out", "running_mean", "running_var"};
  op.num_results = [](const Node& node) { return is_training(node) ? 3 : 1; };
  op.doc =
      "(x - running_mean) / sqrt(running_var + eps) * weight + bias for each channel of x [N, C, "
      "...]; with training, by the statistics of x instead, and with the new running ones as "
      "further "
      "results; torch.nn.functional.batch_norm";
  op.infer = infer_batch_norm;
  op.compose = compose_batch_norm;
  const Type c3{DType::f32, {3}}, c8{DType::f16, {8}};
  op.samples = {
      {{{DType::f32, {2, 3, 5, 7}}, c3, c3, c3, c3}, {}, 0.5, 2},
      {{{DType::f32, {5, 3}}, c3, c3}, {{"eps", 1e-3}}, 0.5, 2},
      {{{DType::f32, {1, 3, 33}}, c3, c3, c3}, {}, 0.5, 2},
      {{{DType::f32, {4, 3, 5}}, c3, c3, c3, c3}, {{"training", true}}, 0.5, 2},
      {{{DType::f16, {4, 8}}, c8, c8},
       {{"training", true}, {"momentum", 0.25}, {"unbiased", false}},
       0.5,
       2},
      {{{DType::f16, {2, 8, 4, 4}}, c8, c8, c8, c8}, {}, 0.5, 2},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_batch_norm
