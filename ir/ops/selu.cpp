#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_selu {
namespace {

constexpr double kAlpha = 1.6732632423543772848170429916717;
constexpr double kScale = 1.0507009873554804934193349852946;

Expr lower(const Exprs& x) {
  const Expr below = mul(literal(x[0], kScale * kAlpha), unary(Fn::expm1, x[0]));
  return select(greater(x[0], literal(x[0], 0)), mul(literal(x[0], kScale), x[0]), below);
}

double reference(const Floats& x) { return kScale * (x[0] > 0 ? x[0] : kAlpha * std::expm1(x[0])); }

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "selu",
                        .operands = {"x"},
                        .doc = "scale * elu(x, alpha) with the constants that keep mean 0 and "
                               "variance 1; torch.nn.functional.selu",
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_selu
