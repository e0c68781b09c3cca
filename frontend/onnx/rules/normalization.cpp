// Batch, layer, instance, group and other normalisations.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

// A vector of channels as [1, C, 1, ...] beside x.
Value* per_channel(OpNode& n, Value* vector, int rank) {
  n.require(rank >= 2 && vector->rank() == 1, "needs x [N, C, ...] and vectors of channels");
  Shape shape(static_cast<size_t>(rank), 1);
  shape[1] = vector->shape()[0];
  return n.b.reshape(vector, shape);
}

// Training: the statistics of this batch, and the running ones moved towards them.
Results batch_norm_training(OpNode& n, double eps, double momentum) {
  Value *x = n.in(0), *scale = n.in(1), *bias = n.in(2), *mean = n.in(3), *var = n.in(4);
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < x->rank(); ++d) dims.push_back(d);
  Value* wide = n.b.compute(x);
  Value* batch_mean = n.b.reduce("mean", wide, dims);
  Value* batch_var = n.b.op("var", {wide}, {{"dim", ir::ints(dims)}, {"correction", 0}});
  Value* centred = n.b.sub(wide, per_channel(n, batch_mean, x->rank()));
  Value* deviation = n.b.unary("rsqrt", n.b.add(batch_var, like(n, batch_var, eps)));
  Value* y = n.b.mul(centred, per_channel(n, deviation, x->rank()));
  y = n.b.add(n.b.mul(y, per_channel(n, n.b.compute(scale), x->rank())),
              per_channel(n, n.b.compute(bias), x->rank()));
  const auto moved = [&](Value* running, Value* batch) {
    Value* old = n.b.compute(running);
    Value* sum = n.b.add(n.b.mul(old, like(n, old, momentum)),
                         n.b.mul(n.b.cast(batch, old->dtype()), like(n, old, 1 - momentum)));
    return n.b.cast(sum, running->dtype());
  };
  return {n.b.cast(y, x->dtype()), moved(mean, batch_mean), moved(var, batch_var)};
}

Results batch_norm(OpNode& n) {
  const double eps = n.number("epsilon", 1e-5), momentum = n.number("momentum", 0.9);
  n.ignore("consumed_inputs");
  if (n.opset >= 14 ? n.flag("training_mode", false) : n.wants(1)) {
    n.require(n.opset >= 14, "training mode before opset 14 is not supported");
    return batch_norm_training(n, eps, momentum);
  }
  if (n.opset < 7)
    n.require(n.flag("is_test", false), "training mode (is_test=0) is not supported");
  if (n.opset < 9) n.require(n.flag("spatial", true), "spatial=0 is not supported");
  return {n.b.op("batch_norm", {n.in(0), n.in(3), n.in(4), n.in(1), n.in(2)}, {{"eps", eps}})};
}

// The dims from `axis` on; mean and 1 / deviation are further results.
Results layer_norm(OpNode& n) {
  Value *x = n.in(0), *scale = n.maybe(1), *bias = n.maybe(2);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank());
  const double eps = n.number("epsilon", 1e-5);
  n.require(n.integer("stash_type", 1) == 1, "stash_type must be 1 (f32)");
  const auto from = x->shape().begin() + axis;
  const Shape shape(from, x->shape().end());
  if (!n.wants(1) && !n.wants(2)) {
    const auto fits = [&](Value* v) { return !v || v->shape() == shape; };
    if (fits(scale) && fits(bias))
      return {n.b.op("layer_norm", {x, scale, bias}, {{"normalized_shape", shape}, {"eps", eps}})};
  }
  const std::vector<int64_t> dims = iota(axis, x->rank());
  Value* wide = n.b.compute(x);
  Value* mean = n.b.reduce("mean", wide, dims, true);
  Value* var =
      n.b.op("var", {wide}, {{"dim", ir::ints(dims)}, {"keepdim", true}, {"correction", 0}});
  Value* inverse = n.b.unary("rsqrt", n.b.add(var, like(n, var, eps)));
  Value* y = n.b.mul(n.b.sub(wide, mean), inverse);
  if (scale) y = n.b.mul(y, n.b.compute(scale));
  if (bias) y = n.b.add(y, n.b.compute(bias));
  return {n.b.cast(y, x->dtype()), mean, inverse};
}

Results instance_norm(OpNode& n) {
  n.ignore("consumed_inputs");
  return {
      n.b.op("instance_norm", {n.in(0), n.in(1), n.in(2)}, {{"eps", n.number("epsilon", 1e-5)}})};
}

// Scale and bias are one per group before opset 21, one per channel from then on.
Results group_norm(OpNode& n) {
  Value *x = n.in(0), *scale = n.in(1), *bias = n.in(2);
  const int64_t groups = n.integer("num_groups");
  n.require(x->rank() >= 2, "x must be [N, C, ...]");
  if (n.opset >= 21) n.ignore("stash_type");
  if (n.opset < 21) {
    const SymInt each = ir::floordiv(x->shape()[1], groups);
    const auto spread = [&](Value* v) {
      Value* column = n.b.expand(n.b.unsqueeze(v, 1), {groups, each});
      return n.b.reshape(column, {x->shape()[1]});
    };
    scale = spread(scale);
    bias = spread(bias);
  }
  return {n.b.op("group_norm", {x, scale, bias},
                 {{"num_groups", groups}, {"eps", n.number("epsilon", 1e-5)}})};
}

Results rms_norm(OpNode& n) {
  Value *x = n.in(0), *scale = n.maybe(1);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank());
  n.ignore("stash_type");
  const Shape shape(x->shape().begin() + axis, x->shape().end());
  return {n.b.op("rms_norm", {x, scale},
                 {{"normalized_shape", shape}, {"eps", n.number("epsilon", 1e-5)}})};
}

// (x - mean) / deviation over `axes`, without an epsilon but the operator's own.
Results mean_variance(OpNode& n) {
  Value* x = n.in(0);
  const std::vector<int64_t> dims = n.axes(n.ints_attr("axes", {0, 2, 3}), x->rank());
  Value* wide = n.b.compute(x);
  Value* mean = n.b.reduce("mean", wide, dims, true);
  Value* var =
      n.b.op("var", {wide}, {{"dim", ir::ints(dims)}, {"keepdim", true}, {"correction", 0}});
  Value* deviation = n.b.add(n.b.unary("sqrt", var), like(n, var, 1e-9));
  return {n.b.cast(n.b.div(n.b.sub(wide, mean), deviation), x->dtype())};
}

// x / norm along one axis, p = 1 or 2.
Results lp_normalization(OpNode& n) {
  Value* x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank()), p = n.integer("p", 2);
  n.require(p == 1 || p == 2, "p must be 1 or 2");
  Value* wide = n.b.compute(x);
  Value* norm =
      n.b.op("norm", {wide},
             {{"dim", ir::ints({axis})}, {"keepdim", true}, {"p", static_cast<double>(p)}});
  return {n.b.cast(n.b.div(wide, norm), x->dtype())};
}

// com.microsoft: (x + skip + bias) normalised over the last dim; the sum is the fourth result.
template <bool simplified>
Results skip_norm(OpNode& n) {
  Value *x = n.b.compute(n.in(0)), *skip = n.b.compute(n.in(1)), *gamma = n.in(2);
  const DType dtype = n.in(0)->dtype();
  Value* beta = simplified ? nullptr : n.maybe(3);
  Value* bias = n.maybe(simplified ? 3 : 4);
  Value* sum = n.b.add(x, skip);
  if (bias) sum = n.b.add(sum, n.b.compute(bias));
  Value* stored = n.b.cast(sum, dtype);
  n.require(x->rank() > 0, "x must have a last dim");
  n.require(x->rank() >= 1, "x must have a dim");
  const Shape shape = {x->shape().back()};
  const double eps = n.number("epsilon", 1e-12);
  Value* y = simplified
                 ? n.b.op("rms_norm", {stored, gamma}, {{"normalized_shape", shape}, {"eps", eps}})
                 : n.b.op("layer_norm", {stored, gamma, beta},
                          {{"normalized_shape", shape}, {"eps", eps}});
  return {y, nullptr, nullptr, stored};
}

constexpr Rule kRules[] = {
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"LayerNormalization", layer_norm},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance},
    {"RMSNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm, "com.microsoft"},
    {"SkipLayerNormalization", skip_norm<false>, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", skip_norm<true>, "com.microsoft"},
};

}  // namespace

std::span<const Rule> normalization_rules() { return kRules; }

}  // namespace tcc::onnx
