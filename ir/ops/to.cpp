#include <optional>

#include "ir/builder.h"
#include "support/error.h"

namespace tcc::ir::ops::op_to {
namespace {

// x brought into the finite range of `dtype`, NaN apart.
Value* saturated(Builder& b, Value* x, DType dtype) {
  const double largest = info(dtype).largest;
  Value* wide = x->dtype() == DType::f64 ? x : b.cast(x, DType::f32);
  return b.op("clamp", {wide}, {{"min", -largest}, {"max", largest}});
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "to";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dtype", AttrType::dtype, std::nullopt}, {"saturate", AttrType::boolean, false}};
  op.doc =
      "x as another dtype, as `cast`; with `saturate`, what is beyond the range of f8 becomes its "
      "largest number; torch.Tensor.to";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const auto dtype = context.node.attr<DType>("dtype");
    context.require(!context.node.attr<bool>("saturate") || is_f8(dtype),
                    str("saturate is for f8, not ", name(dtype)));
    return {{dtype, context.inputs[0]->shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    const auto dtype = node.attr<DType>("dtype");
    Value* x = node.inputs[0];
    return {b.op("cast", {node.attr<bool>("saturate") ? saturated(b, x, dtype) : x},
                 {{"dtype", dtype}})};
  };
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 5}}}, .attrs = {{"dtype", bf16}}},
                {.inputs = {{f32, {3, 64}}}, .attrs = {{"dtype", f8e4m3}}, .lo = -500, .hi = 500},
                {.inputs = {{f32, {3, 64}}},
                 .attrs = {{"dtype", f8e4m3}, {"saturate", true}},
                 .lo = -900,
                 .hi = 900},
                {.inputs = {{i32, {70}}},
                 .attrs = {{"dtype", f8e5m2}, {"saturate", true}},
                 .int_lo = -99999,
                 .int_hi = 99999}};
  return op;
}

}  // namespace tcc::ir::ops::op_to
