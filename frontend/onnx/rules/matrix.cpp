// MatMul, Gemm, Einsum and their fused forms.
#include <cmath>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

Results matmul(OpNode& n) { return {n.b.matmul(n.in(0), n.in(1))}; }

Value* scaled(OpNode& n, Value* x, double factor) {
  if (factor == 1) return x;
  const DType dtype = x->dtype();
  Value* y = n.b.compute(x);
  return n.b.cast(n.b.mul(y, like(n, y, factor)), dtype);
}

// Integers times a whole number stay integers; times another number they are f64, whose sums are
// cut off at the end.
Value* scaled_integers(OpNode& n, Value* x, double factor) {
  if (factor == 1) return x;
  const bool whole = factor == std::floor(factor) && std::fabs(factor) < 0x1p31;
  if (!whole) x = n.b.cast(x, DType::f64);
  return n.b.mul(x, like(n, x, factor));
}

// alpha * A' B' + beta * C.
Results gemm(OpNode& n) {
  Value *a = n.in(0), *weight = n.in(1), *c = n.maybe(2);
  if (n.opset < 7) n.ignore("broadcast");
  n.require(a->rank() == 2 && weight->rank() == 2, "A and B must be matrices");
  if (n.flag("transA", false)) a = n.b.transpose(a, 0, 1);
  const double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  Value* product = n.flag("transB", false) ? n.b.op("linear", {a, weight}) : n.b.matmul(a, weight);
  const DType dtype = product->dtype();
  if (!is_float(dtype)) {
    product = scaled_integers(n, product, alpha);
    return {n.b.cast(c ? n.b.add(product, scaled_integers(n, c, beta)) : product, dtype)};
  }
  if (alpha == 1 && !c) return {product};
  Value* result = scaled(n, n.b.compute(product), alpha);
  if (c) result = n.b.add(result, scaled(n, n.b.compute(c), beta));
  return {n.b.cast(result, product->dtype())};
}

// com.microsoft
Results fused_gemm(OpNode& n) {
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.has(name)) parameters.push_back(n.number(name, 0));
  return {fused_activation(n, gemm(n)[0].value, n.text("activation", ""), parameters)};
}

Results einsum(OpNode& n) {
  return {n.b.op("einsum", n.all_inputs(), {{"equation", n.text("equation", "")}})};
}

// com.microsoft: matmul of operands whose last two dims may be swapped, times alpha.
Results fused_matmul(OpNode& n) {
  Value *a = n.in(0), *c = n.in(1);
  for (const char* name : {"transBatchA", "transBatchB"})
    n.require(!n.flag(name, false), std::string("attribute '") + name + "' is not supported");
  if (n.flag("transA", false)) a = n.b.transpose(a, -1, -2);
  if (n.flag("transB", false)) c = n.b.transpose(c, -1, -2);
  return {scaled(n, n.b.matmul(a, c), n.number("alpha", 1))};
}

constexpr Rule kMatrixRules[] = {
    {"Einsum", einsum},
    {"FusedGemm", fused_gemm, "com.microsoft"},
    {"FusedMatMul", fused_matmul, "com.microsoft"},
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

std::span<const Rule> matrix_rules() { return kMatrixRules; }

}  // namespace tcc::onnx
