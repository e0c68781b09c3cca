// The operators on quantised integers that ONNX Runtime's quantiser writes, domain com.microsoft:
// each is the operator on numbers between a dequantisation and a quantisation.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_attention.h"
#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/rules/_quantized.h"
#include "frontend/onnx/rules/_windows.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// The numbers of operands `k` (integers), `k + 1` (their scale) and `k + 2` (their zero point).
Value* numbers_at(OpNode& n, size_t k) {
  return dequantized(n, n.in(k), n.in(k + 1), n.maybe(k + 2));
}

// x as integers of the type of operand 0, with the scale and zero point of operands `k`, `k + 1`.
Results quantized_as(OpNode& n, Value* x, size_t k, DType dtype) {
  return {n.b.op("quantize", {x, n.in(k), n.maybe(k + 1)}, {{"dtype", dtype}})};
}

template <const char* op>
Results quantized_binary(OpNode& n) {
  Value* result = n.b.op(op, {numbers_at(n, 0), numbers_at(n, 3)});
  return quantized_as(n, result, 6, n.in(0)->dtype());
}

Results sigmoid(OpNode& n) {
  return quantized_as(n, n.b.unary("sigmoid", numbers_at(n, 0)), 3, n.in(0)->dtype());
}

Results quantized_leaky_relu(OpNode& n) {
  Value* result =
      n.b.op("leaky_relu", {numbers_at(n, 0)}, {{"negative_slope", n.number("alpha", 0.01)}});
  return quantized_as(n, result, 3, n.in(0)->dtype());
}

// `opset` is that of the Softmax that was quantised.
Results quantized_softmax(OpNode& n) {
  Value* x = numbers_at(n, 0);
  const int64_t opset = n.integer("opset", 13);
  const int64_t axis = n.axis(n.integer("axis", -1), x->rank());
  return quantized_as(n, softmax_along(n, x, axis, opset >= 13), 3, n.in(0)->dtype());
}

// (scale, zero point) of the result, then three operands of each part.
Results quantized_concat(OpNode& n) {
  n.require(n.num_inputs() >= 5 && n.num_inputs() % 3 == 2,
            "takes a scale, a zero point, and three operands of each part");
  std::vector<Value*> parts;
  for (size_t k = 2; k < n.num_inputs(); k += 3) parts.push_back(numbers_at(n, k));
  const int64_t axis = n.axis(n.integer("axis"), parts[0]->rank());
  return quantized_as(n, n.b.op("cat", parts, {{"dim", axis}}), 0, n.in(2)->dtype());
}

// (condition, x, scale, zero, y, scale, zero, scale, zero)
Results quantized_where(OpNode& n) {
  Value* result = n.b.op("where", {n.in(0), numbers_at(n, 1), numbers_at(n, 4)});
  return quantized_as(n, result, 7, n.in(1)->dtype());
}

// Channels come first in tcc, and last where the attribute says so.
Value* channels_moved(OpNode& n, Value* x, bool to_front) {
  std::vector<int64_t> order = iota(0, x->rank());
  if (to_front) {
    order.insert(order.begin() + 1, order.back());
    order.pop_back();
  } else {
    order.push_back(order[1]);
    order.erase(order.begin() + 1);
  }
  return n.b.permute(x, order);
}

template <class Pool>
Results pooled(OpNode& n, const Pool& pool) {
  Value* x = numbers_at(n, 0);
  n.require(x->rank() >= 3, str("x must be [N, C, ...], not ", ir::to_string(x->type)));
  const bool last = n.flag("channels_last", false);
  if (last) x = channels_moved(n, x, true);
  x = pool(x);
  if (last) x = channels_moved(n, x, false);
  return quantized_as(n, x, 3, n.in(0)->dtype());
}

Results quantized_average_pool(OpNode& n) {
  return pooled(n, [&](Value* x) { return average_pooled(n, x); });
}

Results global_average_pool(OpNode& n) {
  return pooled(n, [&](Value* x) { return n.b.reduce("mean", x, iota(2, x->rank()), true); });
}

// ---- products

// A product of integers stands for real numbers: its sums times the scales of both operands, of
// which that of b may be one per column.
Value* scaled_sum(OpNode& n, Value* sum, Value* scale_a, Value* scale_b, Value* bias) {
  Value* real = n.b.mul(n.b.cast(sum, scale_a->dtype()), n.b.mul(scale_a, scale_b));
  return bias ? n.b.add(real, bias) : real;
}

// (a, scale, zero, b, scale, zero, c, scale, zero): alpha * a b + c, where c has the scale of the
// product; numbers without the last two.
Results quantized_gemm(OpNode& n) {
  Value *a = n.in(0), *b = n.in(3), *c = n.maybe(6), *zero_b = n.maybe(5), *scale_b = n.in(4);
  n.require(a->rank() == 2 && b->rank() == 2, "A and B must be matrices");
  if (n.flag("transA", false)) a = n.b.transpose(a, 0, 1);
  if (n.flag("transB", false)) b = n.b.transpose(b, 0, 1);
  Value* sum = integer_product(n, a, n.maybe(2), b, zero_b);
  if (c) sum = n.b.add(sum, c);
  Value* real = scaled_sum(n, sum, n.in(1), scale_b, nullptr);
  const double alpha = n.number("alpha", 1);
  if (alpha != 1) real = n.b.mul(real, like(n, real, alpha));
  if (!n.has_input(7)) return {real};
  Value* zero = n.maybe(8);
  return quantized_as(n, real, 7, zero ? zero->dtype() : a->dtype());
}

// (a, b, scale, scale, zero, zero, bias)
Results matmul_to_float(OpNode& n) {
  Value* sum = integer_product(n, n.in(0), n.maybe(4), n.in(1), n.maybe(5));
  return {scaled_sum(n, sum, n.in(2), n.in(3), n.maybe(6))};
}

// (a, b, scale of b, zero of b, bias): a is quantised by its own range.
Results dynamic_matmul(OpNode& n) {
  const std::vector<Value*> a = n.b.ops("dynamic_quantize", {n.in(0)});
  Value* sum = integer_product(n, a[0], a[2], n.in(1), n.maybe(3));
  return {scaled_sum(n, sum, a[1], n.in(2), n.maybe(4))};
}

// Attention whose projection is one of integers: (x, weight, bias, scale, scale, mask, zero, zero,
// past).
Results quantized_attention(OpNode& n) {
  Value* sum = integer_product(n, n.in(0), n.maybe(6), n.in(1), n.maybe(7));
  Value* projected = scaled_sum(n, sum, n.in(3), n.in(4), n.in(2));
  return attention_of_projection(n, projected, n.maybe(5), n.maybe(8), nullptr);
}

constexpr char kQuantizedAdd[] = "add", kQuantizedMul[] = "mul";
constexpr Rule kQlinearRules[] = {
    {"DynamicQuantizeMatMul", dynamic_matmul, kMicrosoft},
    {"MatMulIntegerToFloat", matmul_to_float, kMicrosoft},
    {"QAttention", quantized_attention, kMicrosoft},
    {"QGemm", quantized_gemm, kMicrosoft},
    {"QLinearAdd", quantized_binary<kQuantizedAdd>, kMicrosoft},
    {"QLinearAveragePool", quantized_average_pool, kMicrosoft},
    {"QLinearConcat", quantized_concat, kMicrosoft},
    {"QLinearGlobalAveragePool", global_average_pool, kMicrosoft},
    {"QLinearLeakyRelu", quantized_leaky_relu, kMicrosoft},
    {"QLinearMul", quantized_binary<kQuantizedMul>, kMicrosoft},
    {"QLinearSigmoid", sigmoid, kMicrosoft},
    {"QLinearSoftmax", quantized_softmax, kMicrosoft},
    {"QLinearWhere", quantized_where, kMicrosoft},
};

}  // namespace

std::span<const Rule> qlinear_rules() { return kQlinearRules; }

}  // namespace tcc::onnx
