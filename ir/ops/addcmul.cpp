#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_addcmul {

OpDef make() {
  OpDef op = pointwise(
      {.name = "addcmul",
       .operands = {"x", "a", "b"},
       .doc = "x + value * a * b; torch.addcmul",
       .attrs = {{"value", AttrType::number, 1.0}},
       .element =
           [](const Exprs& x) {
             return add(x[0], mul(literal(x[0], x.node, "value"), mul(x[1], x[2])));
           },
       .on_floats = [](const Floats& x) { return x[0] + x.number("value") * (x[1] * x[2]); },
       .on_integers =
           [](const Ints& x) {
             const int64_t value = x.whole("value");
             return wrapping_add(x[0], wrapping_mul(value, wrapping_mul(x[1], x[2])));
           },
       .check =
           [](const InferContext& context) {
             DType dtype = context.inputs[0]->dtype;
             for (const Type* x : context.inputs) dtype = promote(dtype, x->dtype);
             require_value_of(context, "value", dtype);
           }});
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 9}}, {f32, {4, 9}}, {f32, {4, 9}}}},
                {.inputs = {{f32, {3, 1}}, {f32, {5}}, {f32, Shape{}}}, .attrs = {{"value", -0.5}}},
                {.inputs = {{bf16, {33}}, {bf16, {33}}, {bf16, {1}}}},
                {.inputs = {{i32, {4}}, {i32, {3, 1}}, {i32, {4}}}, .attrs = {{"value", 3.0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_addcmul
