#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_div {
namespace {

DType working(const Node& node, DType promoted) {
  return node.attr<std::string>("rounding_mode") == "none" ? as_float(node, promoted) : promoted;
}

Expr divide(const Exprs& x) {
  const auto& mode = x.node.attr<std::string>("rounding_mode");
  if (mode == "floor") return call(Fn::floordiv, {x[0], x[1]});
  const Expr quotient = div(x[0], x[1]);  // of integers: towards zero
  return mode == "trunc" && is_float(x.dtype) ? unary(Fn::trunc, quotient) : quotient;
}

double divide(const Floats& x) {
  const auto& mode = x.node.attr<std::string>("rounding_mode");
  if (mode == "floor") return floor_quotient(x[0], x[1]);
  return mode == "trunc" ? std::trunc(x[0] / x[1]) : x[0] / x[1];
}

int64_t divide(const Ints& x) {
  const bool floor = x.node.attr<std::string>("rounding_mode") == "floor";
  return floor ? floor_quotient(x.dtype, x[0], x[1]) : trunc_quotient(x.dtype, x[0], x[1]);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "div",
       .operands = {"a", "b"},
       .doc = "a / b, f32 for integers; rounded towards minus infinity or zero by rounding_mode, "
              "which keeps integers (x / 0 is 0 then); torch.div",
       .attrs = {{"rounding_mode", AttrType::text, "none", {"none", "floor", "trunc"}}},
       .working = working,
       .element = [](const Exprs& x) { return divide(x); },
       .on_floats = [](const Floats& x) { return divide(x); },
       .on_integers = [](const Ints& x) { return divide(x); }});
  op.samples = binary_samples() + int_float_samples() + binary_int_samples(1, 9) +
               with_attrs(binary_int_samples(-8, 8), {{"rounding_mode", "floor"}}) +
               with_attrs(binary_int_samples(-8, 8), {{"rounding_mode", "trunc"}}) +
               with_attrs(binary_samples(1, 9), {{"rounding_mode", "floor"}});
  op.samples.push_back({.inputs = {{DType::f32, {4, 9}}, {DType::f32, {9}}},
                        .attrs = {{"rounding_mode", "trunc"}},
                        .lo = 1,
                        .hi = 30});
  return op;
}

}  // namespace tcc::ir::ops::op_div
