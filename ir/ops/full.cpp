#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_integers.h"
#include "support/error.h"

namespace tcc::ir::ops::op_full {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const DType dtype = context.node.attr<DType>("dtype");
  // A fraction is dropped, as torch.full does.
  if (!is_float(dtype) && dtype != DType::boolean)
    require_value_of(context, "fill_value", dtype, true);
  return {{dtype, checked_shape(context, symint_list(context.node, "size"))}};
}

void reference(EvalContext& context) {
  RefTensor& out = context.outputs[0];
  const double value = number_attr(context.node, "fill_value");
  std::fill(out.f.begin(), out.f.end(), value);
  if (out.dtype == DType::boolean)
    std::fill(out.i.begin(), out.i.end(), value != 0);
  else if (!out.is_float())
    std::fill(out.i.begin(), out.i.end(), whole_attr(context.node, "fill_value"));
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "full";
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true}),
              {"fill_value", AttrType::number, std::nullopt},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = "A tensor of one value; torch.full";
  op.infer = infer;
  op.element = [](ElementContext& context, std::span<const SymInt>) {
    return constant_of(context.node().attr<DType>("dtype"), context.node(), "fill_value");
  };
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {.inputs = {}, .attrs = {{"size", ints({3, 5})}, {"fill_value", 0.1}}},
      {.inputs = {}, .attrs = {{"size", ints({})}, {"fill_value", -7.0}, {"dtype", i32}}},
      {.inputs = {}, .attrs = {{"size", ints({0, 2})}, {"fill_value", 1.0}, {"dtype", f16}}},
      {.inputs = {}, .attrs = {{"size", ints({9})}, {"fill_value", 2.0}, {"dtype", boolean}}},
      {.inputs = {}, .attrs = {{"size", ints({4})}, {"fill_value", 1.0 / 3}, {"dtype", bf16}}},
      {.inputs = {}, .attrs = {{"size", ints({5})}, {"fill_value", 1.0 / 3}, {"dtype", f8e4m3}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_full
