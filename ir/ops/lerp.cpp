#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_lerp {
namespace {

// The form that is exact at both ends (a at weight 0, b at 1), as ATen's.
Expr lower(const Exprs& x) {
  const Expr &a = x[0], &b = x[1], &weight = x[2], difference = sub(b, a);
  const Expr from_a = add(a, mul(weight, difference));
  const Expr from_b = sub(b, mul(difference, sub(literal(a, 1), weight)));
  return select(less(unary(Fn::abs, weight), literal(a, 0.5)), from_a, from_b);
}

double reference(const Floats& x) {
  const double difference = x[1] - x[0];
  return std::fabs(x[2]) < 0.5 ? x[0] + x[2] * difference : x[1] - difference * (1 - x[2]);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "lerp",
                        .operands = {"a", "b", "weight"},
                        .doc = "a + weight * (b - a); torch.lerp",
                        .element = lower,
                        .on_floats = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 9}}, {f32, {4, 9}}, {f32, {4, 9}}}},
                {.inputs = {{f32, {3, 1}}, {f32, {5}}, {f32, Shape{}}}, .lo = 0, .hi = 1},
                {.inputs = {{bf16, {33}}, {bf16, {33}}, {bf16, {1}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_lerp
