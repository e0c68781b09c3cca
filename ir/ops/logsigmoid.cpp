#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_logsigmoid {
namespace {

Expr lower(const Exprs& x) {
  const Expr tail = unary(Fn::log1p, unary(Fn::exp, unary(Fn::neg, unary(Fn::abs, x[0]))));
  const Expr negated = unary(Fn::neg, x[0]);
  return unary(Fn::neg, add(maximum(negated, literal(x[0], 0)), tail));  // -0 for large x
}

double reference(const Floats& x) {
  return -((x[0] > 0 ? 0 : -x[0]) + std::log1p(std::exp(-std::fabs(x[0]))));
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "logsigmoid",
                        .operands = {"x"},
                        .doc = "log(sigmoid(x)); torch.nn.functional.logsigmoid",
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-30, 30);
  return op;
}

}  // namespace tcc::ir::ops::op_logsigmoid
