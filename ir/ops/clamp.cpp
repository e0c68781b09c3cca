#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_clamp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr lower(const Exprs& x) {
  const double low = x.number("min"), high = x.number("max");
  Expr result = x[0];
  if (low != -kInfinity) result = maximum(result, literal(x[0], x.node, "min"));
  if (high != kInfinity) result = minimum(result, literal(x[0], x.node, "max"));
  return result;
}

double reference(const Floats& x) {
  double result = x[0];  // NaN stays, since no comparison with it holds
  if (result < x.number("min")) result = x.number("min");
  return result > x.number("max") ? x.number("max") : result;
}

int64_t integer_reference(const Ints& x) {
  int64_t result = x[0];
  if (x.number("min") != -kInfinity && three_way(x.dtype, result, x.whole("min")) < 0)
    result = x.whole("min");
  if (x.number("max") != kInfinity && three_way(x.dtype, result, x.whole("max")) > 0)
    result = x.whole("max");
  return result;
}

void check(const InferContext& context) {
  const DType dtype = context.inputs[0]->dtype;
  if (number_attr(context.node, "min") != -kInfinity) require_value_of(context, "min", dtype);
  if (number_attr(context.node, "max") != kInfinity) require_value_of(context, "max", dtype);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "clamp",
       .operands = {"x"},
       .doc = "min(max(x, min), max), NaN stays; each bound may be left out; "
              "torch.clamp",
       .attrs = {{"min", AttrType::number, -kInfinity}, {"max", AttrType::number, kInfinity}},
       .element = lower,
       .on_floats = reference,
       .on_integers = integer_reference,
       .check = check});
  op.samples = with_attrs(unary_samples(), {{"min", -1.0}, {"max", 0.5}}) +
               with_attrs(unary_samples(), {{"min", 0.25}}) +
               with_attrs(unary_int_samples(-8, 8), {{"min", -3.0}, {"max", 5.0}});
  return op;
}

}  // namespace tcc::ir::ops::op_clamp
