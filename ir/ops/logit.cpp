#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_logit {
namespace {

Expr lower(const Exprs& x) {
  const double eps = x.number("eps");
  const Expr one = literal(x[0], 1);
  const Expr clamped =
      eps < 0 ? x[0] : minimum(maximum(x[0], literal(x[0], eps)), literal(x[0], 1 - eps));
  return unary(Fn::log, div(clamped, sub(one, clamped)));
}

double reference(const Floats& x) {
  const double eps = x.number("eps");
  double clamped = x[0];
  if (eps >= 0 && clamped < eps) clamped = eps;
  if (eps >= 0 && clamped > 1 - eps) clamped = 1 - eps;
  return std::log(clamped / (1 - clamped));
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "logit",
                        .operands = {"x"},
                        .doc = "log(x / (1 - x)), x first clamped to [eps, 1 - eps] unless eps is "
                               "negative; torch.special.logit",
                        .attrs = {{"eps", AttrType::number, -1.0}},
                        .working = as_float,
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(0.05, 0.95) + with_attrs(unary_samples(-1, 2), {{"eps", 0.125}});
  return op;
}

}  // namespace tcc::ir::ops::op_logit
