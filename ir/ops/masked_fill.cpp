#include <limits>
#include <optional>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_masked_fill {
namespace {

int64_t reference(const Ints& x) { return x[1] != 0 ? x.whole("value") : x[0]; }

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "masked_fill",
       .operands = {"x", "mask"},
       .doc = "value where mask (bool) holds, x elsewhere; torch.Tensor.masked_fill",
       .attrs = {{"value", AttrType::number, std::nullopt}},
       .condition = 1,
       .on_bool = true,
       .element = [](const Exprs& x) { return select(x[1], literal(x[0], x.node, "value"), x[0]); },
       .on_floats = [](const Floats& x) { return x[1] != 0 ? x.number("value") : x[0]; },
       .on_integers = reference,
       .check =
           [](const InferContext& context) {
             require_value_of(context, "value", context.inputs[0]->dtype);
           }});
  using enum DType;
  const double lowest = -std::numeric_limits<double>::infinity();
  op.takes_f8 = true;
  op.samples = {
      {.inputs = {{f32, {2, 3, 5}}, {boolean, {3, 5}}}, .attrs = {{"value", lowest}}, .int_hi = 2},
      {.inputs = {{f16, {9}}, {boolean, {4, 1}}}, .attrs = {{"value", -1e4}}, .int_hi = 2},
      {.inputs = {{i64, {4}}, {boolean, Shape{}}}, .attrs = {{"value", -1.0}}, .int_hi = 2}};
  return op;
}

}  // namespace tcc::ir::ops::op_masked_fill
