#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_addcdiv {

OpDef make() {
  OpDef op = pointwise(
      {.name = "addcdiv",
       .operands = {"x", "a", "b"},
       .doc = "x + value * a / b; torch.addcdiv",
       .attrs = {{"value", AttrType::number, 1.0}},
       .element =
           [](const Exprs& x) {
             return add(x[0], mul(literal(x[0], x.number("value")), div(x[1], x[2])));
           },
       .on_floats = [](const Floats& x) { return x[0] + x.number("value") * (x[1] / x[2]); }});
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 9}}, {f32, {4, 9}}, {f32, {4, 9}}}, .lo = 0.5, .hi = 2},
                {.inputs = {{f32, {3, 1}}, {f32, {5}}, {f32, Shape{}}},
                 .attrs = {{"value", -0.5}},
                 .lo = 0.5,
                 .hi = 2},
                {.inputs = {{bf16, {33}}, {bf16, {33}}, {bf16, {1}}}, .lo = 0.5, .hi = 2},
                {.inputs = {{f64, {4}}, {f64, {3, 1}}, {f64, {4}}},
                 .attrs = {{"value", 3.0}},
                 .lo = 1,
                 .hi = 2}};
  return op;
}

}  // namespace tcc::ir::ops::op_addcdiv
