#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "support/error.h"

namespace tcc::ir::ops::op_arange {
namespace {

struct Range {
  double start, end, step;
  double length() const { return std::max(0.0, std::ceil((end - start) / step)); }
};

Range range_of(const Node& node) {
  return {number_attr(node, "start"), number_attr(node, "end"), number_attr(node, "step")};
}

std::vector<Type> infer(const InferContext& context) {
  const Range range = range_of(context.node);
  const DType dtype = context.node.attr<DType>("dtype");
  context.require(dtype != DType::boolean, "is not defined for bool");
  for (double value : {range.start, range.end, range.step}) {
    context.require(std::isfinite(value), "start, end and step must be finite");
    const bool is_whole = std::trunc(value) == value && std::fabs(value) < 0x1p53;
    context.require(is_float(dtype) || is_whole,
                    str(value, " is not a whole number, which ", name(dtype), " needs"));
  }
  context.require(range.step != 0, "step must not be 0");
  context.require(range.length() < 0x1p53, "has too many elements");
  return {{dtype, checked_shape(context, {static_cast<int64_t>(range.length())})}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const DType dtype = context.node().attr<DType>("dtype");
  const Range range = range_of(context.node());
  const Expr at = converted(index_value(index[0]), dtype);
  return add(constant_of(dtype, range.start), mul(at, constant_of(dtype, range.step)));
}

void reference(EvalContext& context) {
  const Range range = range_of(context.node);
  RefTensor& out = context.outputs[0];
  for (size_t i = 0; i < out.f.size(); ++i)
    out.f[i] = range.start + static_cast<double>(i) * range.step;
  for (size_t i = 0; i < out.i.size(); ++i) {
    const auto step = static_cast<int64_t>(range.step);
    out.i[i] = static_cast<int64_t>(range.start) + static_cast<int64_t>(i) * step;
  }
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "arange";
  op.attrs = {{"start", AttrType::number, 0.0},
              {"end", AttrType::number, std::nullopt},
              {"step", AttrType::number, 1.0},
              {"dtype", AttrType::dtype, DType::i64}};
  op.doc =
      "start, start + step, ... up to end, which is left out; see iota for symbolic lengths; "
      "torch.arange";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.samples = {{.inputs = {}, .attrs = {{"end", 7.0}}},
                {.inputs = {},
                 .attrs = {{"start", 9.0}, {"end", -3.0}, {"step", -4.0}, {"dtype", DType::i32}}},
                {.inputs = {}, .attrs = {{"end", 2.0}, {"step", 0.25}, {"dtype", DType::f32}}},
                {.inputs = {}, .attrs = {{"start", 3.0}, {"end", 3.0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_arange
