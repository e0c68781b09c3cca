#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_gelu {
namespace {

constexpr double kRootTwoOverPi = 0.79788456080286535588;
constexpr double kRootHalf = 0.70710678118654752440;

bool by_tanh(const Node& node) { return node.attr<std::string>("approximate") == "tanh"; }

Expr gelu(const Exprs& operands) {
  const Expr& x = operands[0];
  const auto number = [&](double value) { return literal(x, value); };
  if (!by_tanh(operands.node)) return mul(x, unary(Fn::normal_cdf, x));
  // (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps its digits for large negative u.
  const Expr cubic = add(number(1), mul(number(0.044715), mul(x, x)));
  return mul(x, unary(Fn::sigmoid, mul(number(2 * kRootTwoOverPi), mul(x, cubic))));
}

double gelu(const Floats& operands) {
  const double x = operands[0];
  if (!by_tanh(operands.node)) return 0.5 * x * std::erfc(-x * kRootHalf);
  return x / (1 + std::exp(-2 * kRootTwoOverPi * (x + 0.044715 * x * x * x)));
}

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "gelu",
                 .operands = {"x"},
                 .doc = "x * Phi(x) with the normal distribution Phi, or its tanh approximation; "
                        "torch.nn.functional.gelu",
                 .attrs = {{"approximate", AttrType::text, "none", {"none", "tanh"}}},
                 .element = [](const Exprs& x) { return gelu(x); },
                 .on_floats = [](const Floats& x) { return gelu(x); }});
  // normal_cdf_f32 of backends/device/common/math.inc has this absolute error, as 1 + erf(x) in f32
  // has.
  op.device_error = [](const Node& node, double x) {
    return by_tanh(node) ? 0 : 1.5e-7 * std::fabs(x);
  };
  // Further down, a rounding of u alone is more than a few ulp of the result.
  op.samples = unary_samples(-4, 4) + with_attrs(unary_samples(-2, 4), {{"approximate", "tanh"}});
  return op;
}

}  // namespace tcc::ir::ops::op_gelu
