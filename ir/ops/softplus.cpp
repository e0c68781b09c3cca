#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_softplus {
namespace {

Expr lower(const Exprs& x) {
  const Expr beta = literal(x[0], x.number("beta")), zero = literal(x[0], 0);
  const Expr scaled = mul(x[0], beta);
  // log(1 + e^s) = max(s, 0) + log(1 + e^-|s|), which never overflows.
  const Expr tail = unary(Fn::log1p, unary(Fn::exp, unary(Fn::neg, unary(Fn::abs, scaled))));
  const Expr smooth = div(add(maximum(scaled, zero), tail), beta);
  return select(greater(scaled, literal(x[0], x.number("threshold"))), x[0], smooth);
}

double reference(const Floats& x) {
  const double beta = x.number("beta"), scaled = x[0] * beta;
  if (scaled > x.number("threshold")) return x[0];
  const double tail = std::log1p(std::exp(-std::fabs(scaled)));
  return (scaled > 0 ? scaled + tail : tail) / beta;
}

void check(const InferContext& context) {
  context.require(number_attr(context.node, "beta") != 0, "beta must not be 0");
}

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "softplus",
       .operands = {"x"},
       .doc =
           "log(1 + e^(beta x)) / beta, x where beta x > threshold; torch.nn.functional.softplus",
       .attrs = {{"beta", AttrType::number, 1.0}, {"threshold", AttrType::number, 20.0}},
       .element = lower,
       .on_floats = reference,
       .check = check});
  op.samples = unary_samples(-30, 30) +
               with_attrs(unary_samples(-4, 4), {{"beta", 2.0}, {"threshold", 3.0}});
  return op;
}

}  // namespace tcc::ir::ops::op_softplus
