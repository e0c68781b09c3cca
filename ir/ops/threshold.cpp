#include <optional>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_threshold {
namespace {

Expr lower(const Exprs& x) {
  const Expr limit = literal(x[0], x.number("threshold"));
  return select(call(Fn::le, {x[0], limit}), literal(x[0], x.number("value")), x[0]);
}

double reference(const Floats& x) {
  const double limit = round_to(compute_dtype(x.dtype), x.number("threshold"));
  return x[0] <= limit ? x.number("value") : x[0];
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "threshold",
                        .operands = {"x"},
                        .doc = "x above threshold, value elsewhere; torch.nn.functional.threshold",
                        .attrs = {{"threshold", AttrType::number, std::nullopt},
                                  {"value", AttrType::number, std::nullopt}},
                        .element = lower,
                        .on_floats = reference});
  op.samples = with_attrs(unary_samples(), {{"threshold", 0.1}, {"value", 20.0}});
  return op;
}

}  // namespace tcc::ir::ops::op_threshold
