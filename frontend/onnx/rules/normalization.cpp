// Batch, layer, instance, group and other normalisations.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_attention.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

Results batch_norm(OpNode& n) {
  const double eps = n.number("epsilon", 1e-5), momentum = n.number("momentum", 0.9);
  n.ignore("consumed_inputs");
  if (n.opset >= 14 ? n.flag("training_mode", false) : n.wants(1)) {
    n.require(n.opset >= 14, "training mode before opset 14 is not supported");
    // The statistics of this batch, and the running ones moved towards them.
    return all_of(n.b.ops(
        "batch_norm", {n.in(0), n.in(3), n.in(4), n.in(1), n.in(2)},
        {{"eps", eps}, {"training", true}, {"momentum", 1 - momentum}, {"unbiased", false}}));
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

// The result has the scale's type, which may be of any shape that broadcasts.
Results rms_norm(OpNode& n) {
  Value *x = n.in(0), *scale = n.maybe(1);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank());
  n.ignore("stash_type");
  const Shape shape(x->shape().begin() + axis, x->shape().end());
  const ir::Attrs attrs = {{"normalized_shape", shape}, {"eps", n.number("epsilon", 1e-5)}};
  if (!scale || (scale->shape() == shape && scale->dtype() == x->dtype()))
    return {n.b.op("rms_norm", {x, scale}, attrs)};
  Value* y = n.b.op("rms_norm", {n.b.compute(x), nullptr}, attrs);
  return {n.b.cast(n.b.mul(y, n.b.compute(scale)), scale->dtype())};
}

Results mean_variance(OpNode& n) {
  Value* x = n.in(0);
  const std::vector<int64_t> dims = n.axes(n.ints_attr("axes", {0, 2, 3}), x->rank());
  return {n.b.op("mean_variance_norm", {x}, {{"dim", ir::ints(dims)}})};
}

// x / norm along one axis, p = 1 or 2; 0 where the norm is 0.
Results lp_normalization(OpNode& n) {
  Value* x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank()), p = n.integer("p", 2);
  n.require(p == 1 || p == 2, "p must be 1 or 2");
  Value* wide = n.b.compute(x);
  Value* norm =
      n.b.op("norm", {wide},
             {{"dim", ir::ints({axis})}, {"keepdim", true}, {"p", static_cast<double>(p)}});
  Value* zero = like(n, norm, 0);
  Value* quotient = n.b.op("where", {n.b.op("eq", {norm, zero}), zero, n.b.div(wide, norm)});
  return {n.b.cast(quotient, x->dtype())};
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
  const Shape shape = {x->shape().back()};
  const double eps = n.number("epsilon", 1e-12);
  Value* y = simplified
                 ? n.b.op("rms_norm", {stored, gamma}, {{"normalized_shape", shape}, {"eps", eps}})
                 : n.b.op("layer_norm", {stored, gamma, beta},
                          {{"normalized_shape", shape}, {"eps", eps}});
  return {y, nullptr, nullptr, stored};
}

// com.microsoft: (ids, segment ids, words, positions, segments, scale, bias, mask, position ids).
// The sum of the embeddings is normalised; it is the third result, the length of each mask the
// second.
Results embed_norm(OpNode& n) {
  Value *ids = n.in(0), *segments = n.maybe(1), *places = n.maybe(8), *mask = n.maybe(7);
  n.require(ids->rank() == 2, "input_ids must be [batch, length]");
  const auto embedded = [&](Value* weight, Value* index) {
    return n.b.op("embedding", {n.b.cast(index, DType::i64), weight});
  };
  if (!places) places = positions(n, ids->shape()[1]);
  Value* words = embedded(n.in(2), ids);
  Value* sum = n.b.add(n.b.compute(words), n.b.compute(embedded(n.in(3), places)));
  if (Value* table = n.maybe(4)) {
    if (!segments) segments = n.b.splat(DType::i64, ids->shape(), 0);
    sum = n.b.add(sum, n.b.compute(embedded(table, segments)));
  }
  sum = n.b.cast(sum, words->dtype());
  Value* y = n.b.op(
      "layer_norm", {sum, n.in(5), n.in(6)},
      {{"normalized_shape", Shape{sum->shape().back()}}, {"eps", n.number("epsilon", 1e-12)}});
  n.ignore("mask_index_type");
  Value* lengths = n.b.splat(DType::i32, {ids->shape()[0]}, 0);
  if (mask) {
    Value* counts = n.b.op("eq", {mask, n.b.scalar(mask->dtype(), 1)});
    lengths = n.b.cast(n.b.reduce("sum", counts, {1}), DType::i32);
  }
  return {y, lengths, sum};
}

constexpr Rule kNormalizationRules[] = {
    {"BatchNormalization", batch_norm},
    {"EmbedLayerNormalization", embed_norm, "com.microsoft"},
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

std::span<const Rule> normalization_rules() { return kNormalizationRules; }

}  // namespace tcc::onnx
