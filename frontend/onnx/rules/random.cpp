// Random tensors and Dropout. A seed gives the same numbers on every device, but not those of other
// runtimes: the format leaves the generator open.
#include <bit>
#include <cmath>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

// The format's seed is a float; without one each node has its own.
int64_t seed_of(OpNode& n) {
  if (n.has("seed")) return std::bit_cast<int32_t>(static_cast<float>(n.number("seed", 0)));
  return static_cast<int64_t>(n.b.graph().nodes().size()) + 1;
}

Value* drawn(OpNode& n, std::string_view op, const Shape& shape, int64_t seed) {
  return n.b.op(op, {}, {{"size", shape}, {"seed", seed}});
}

Value* uniform(OpNode& n, const Shape& shape, DType dtype) {
  const double low = n.number("low", 0), high = n.number("high", 1);
  Value* u = drawn(n, "rand", shape, seed_of(n));
  return n.b.cast(n.b.add(n.b.mul(u, like(n, u, high - low)), like(n, u, low)), dtype);
}

Value* normal(OpNode& n, const Shape& shape, DType dtype) {
  const double mean = n.number("mean", 0), scale = n.number("scale", 1);
  Value* z = drawn(n, "randn", shape, seed_of(n));
  return n.b.cast(n.b.add(n.b.mul(z, like(n, z, scale)), like(n, z, mean)), dtype);
}

Shape shape_attr(OpNode& n) {
  const std::vector<int64_t> dims = n.ints_attr("shape");
  return {dims.begin(), dims.end()};
}

Results random_uniform(OpNode& n) {
  return {uniform(n, shape_attr(n), n.dtype_attr("dtype").value_or(DType::f32))};
}

Results random_normal(OpNode& n) {
  return {normal(n, shape_attr(n), n.dtype_attr("dtype").value_or(DType::f32))};
}

Results random_uniform_like(OpNode& n) {
  const Value* x = n.in(0);
  return {uniform(n, x->shape(), n.dtype_attr("dtype").value_or(x->dtype()))};
}

Results random_normal_like(OpNode& n) {
  const Value* x = n.in(0);
  return {normal(n, x->shape(), n.dtype_attr("dtype").value_or(x->dtype()))};
}

// 1 with the probability that x says.
Results bernoulli(OpNode& n) {
  Value* x = n.in(0);
  const DType dtype = n.dtype_attr("dtype").value_or(x->dtype());
  Value* u = drawn(n, "rand", x->shape(), seed_of(n));
  return {n.b.cast(n.b.op("lt", {u, n.b.cast(x, DType::f32)}), dtype)};
}

// Indices of classes, given the logarithms of their weights [batch, classes].
Results multinomial(OpNode& n) {
  Value* x = n.in(0);
  n.require(x->rank() == 2, "x must be [batch, classes]");
  const int64_t seed = seed_of(n);
  const auto dtype = n.dtype_attr("dtype").value_or(DType::i32);
  n.require(dtype == DType::i32 || dtype == DType::i64, "dtype must be INT32 or INT64");
  Value* weights = n.b.op("softmax", {n.b.compute(x)}, {{"dim", 1}});
  Value* drawn =
      n.b.op("multinomial", {weights},
             {{"num_samples", n.integer("sample_size", 1)}, {"replacement", true}, {"seed", seed}});
  return {n.b.cast(drawn, dtype)};
}

Value* all_true(OpNode& n, const Shape& shape) {
  Tensor truth(DType::boolean, {});
  truth.set_int(0, 1);
  return n.b.expand(n.constant(std::make_shared<const Tensor>(std::move(truth))), shape);
}

// x itself, but in training; the mask says which elements stayed.
Results dropout(OpNode& n) {
  Value* x = n.in(0);
  bool training = n.opset < 7 && !n.flag("is_test", n.opset < 1);
  double ratio = 0.5;
  if (n.opset >= 12) {
    training = n.has_input(2) && n.int_of(2) != 0;
    if (n.has_input(1) && training) ratio = n.number_of(1);
    n.maybe(1);
  } else {
    ratio = n.number("ratio", 0.5);
    training = false;  // an inference graph
    n.ignore("is_test");
  }
  n.ignore("consumed_inputs");
  const int64_t seed = n.has("seed") ? n.integer("seed") : seed_of(n);
  if (!training || ratio == 0) {
    Value* mask = n.wants(1) ? all_true(n, x->shape()) : nullptr;
    if (mask && n.opset < 10) mask = n.b.cast(mask, x->dtype());
    return {x, mask};
  }
  n.require(ratio > 0 && ratio < 1, "ratio must lie in [0, 1)");
  Value* u = drawn(n, "rand", x->shape(), seed);
  Value* stays = n.b.op("ge", {u, n.b.scalar(DType::f32, ratio)});
  Value* wide = n.b.compute(x);
  Value* scaled = n.b.cast(n.b.mul(wide, like(n, wide, 1 / (1 - ratio))), x->dtype());
  return {n.b.op("where", {stays, scaled, like(n, x, 0)}), stays};
}

constexpr Rule kRandomRules[] = {
    {"Bernoulli", bernoulli},
    {"Dropout", dropout},
    {"Multinomial", multinomial},
    {"RandomNormal", random_normal},
    {"RandomNormalLike", random_normal_like},
    {"RandomUniform", random_uniform},
    {"RandomUniformLike", random_uniform_like},
};

}  // namespace

std::span<const Rule> random_rules() { return kRandomRules; }

}  // namespace tcc::onnx
