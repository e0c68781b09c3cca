#include <optional>

#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_pad {
namespace {

struct Amount {
  SymInt before = 0, after = 0;
};

// Returns the amounts by dim; the attribute begins with the last dim.
std::vector<Amount> amounts(const Node& node, size_t rank) {
  const Shape pad = symint_list(node, "pad");
  std::vector<Amount> result(rank);
  for (size_t k = 0; k + 1 < pad.size(); k += 2) result[rank - 1 - k / 2] = {pad[k], pad[k + 1]};
  return result;
}

const std::string& mode_of(const Node& node) { return node.attr<std::string>("mode"); }

void check_amount(const InferContext& context, const SymInt& amount, const SymInt& extent) {
  const std::string& mode = mode_of(context.node);
  if (mode == "constant" || amount.range().hi <= 0) return;
  const SymInt most = mode == "reflect" ? extent - 1 : extent;
  const bool fits = mode == "replicate" ? !extent.is(0) : (amount - most).range().lo <= 0;
  context.require(fits, str("cannot pad a dim of ", extent, " by ", amount, " in mode ", mode));
}

std::vector<Type> infer(const InferContext& context) {
  Type out = *context.inputs[0];
  const size_t count = symint_list(context.node, "pad").size();
  context.require(
      count % 2 == 0 && count <= 2 * out.shape.size(),
      str("pad must hold two numbers for each of up to ", out.shape.size(), " dims, not ", count));
  require_value_of(context, "value", out.dtype);
  const auto pads = amounts(context.node, out.shape.size());
  for (size_t d = 0; d < out.shape.size(); ++d) {
    for (const SymInt& amount : {pads[d].before, pads[d].after}) {
      const Interval range = amount.range();
      context.require(range.lo > -kUnbounded && (!amount.is_const() || range.hi < kUnbounded),
                      str("pad ", amount, " is too large"));
      check_amount(context, amount, out.shape[d]);
    }
    out.shape[d] = out.shape[d] + pads[d].before + pads[d].after;
  }
  checked_shape(context, out.shape);
  return {out};
}

// Returns the operand's index that index i of a padded dim reads; it is in range for every i except
// in mode constant.
SymInt source(const std::string& mode, const SymInt& i, const SymInt& extent) {
  if (mode == "circular") return mod(i, extent);
  if (mode == "replicate") return clamped_index(i, extent);
  if (mode == "constant") return i;
  const SymInt last = extent - 1, from_front = max(i, -i);
  return min(from_front, 2 * last - from_front);
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const Shape& x = node.inputs[0]->shape();
  const auto pads = amounts(node, x.size());
  const std::string& mode = mode_of(node);
  const Expr fill = constant_of(node.outputs[0]->dtype(), node, "value");
  std::vector<SymInt> from;
  std::vector<Expr> conditions;
  for (size_t d = 0; d < x.size(); ++d) {
    const SymInt i = index[d] - pads[d].before;
    const bool grows = pads[d].before.range().hi > 0 || pads[d].after.range().hi > 0;
    if (x[d].is(0)) return fill;
    from.push_back(grows ? source(mode, i, x[d]) : i);
    if (!grows || mode != "constant") continue;
    // The element is read even where it is not used.
    conditions.push_back(in_range(i, 0, x[d]));
    from.back() = clamped_index(i, x[d]);
  }
  const Expr value = context.operand(0, from), inside = all_of(conditions);
  return !inside || is_true(inside) ? value : select(inside, value, fill);
}

// Does the same in plain numbers; -1 where the fill value goes.
int64_t source(const std::string& mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == "constant") return -1;
  if (mode == "circular") return ((i % extent) + extent) % extent;
  if (mode == "replicate") return i < 0 ? 0 : extent - 1;
  return i < 0 ? -i : 2 * (extent - 1) - i;
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const auto pads = amounts(context.node, x.shape.size());
  const double value = number_attr(context.node, "value");
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> from;
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      from.push_back(source(mode_of(context.node), index[d] - pads[d].before.value(), x.shape[d]));
      inside = inside && from.back() >= 0;
    }
    if (inside)
      copy_element(x, offset_of(from, x.shape), out, offset);
    else if (out.is_float())
      out.f[static_cast<size_t>(offset)] = value;
    else
      out.i[static_cast<size_t>(offset)] = whole_attr(context.node, "value");
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "pad";
  op.operands = {"x"};
  op.attrs = {
      size_attr({"pad", AttrType::ints, std::nullopt}),
      {"mode", AttrType::text, "constant", {"constant", "reflect", "replicate", "circular"}},
      {"value", AttrType::number, 0.0}};
  op.doc =
      "x with `pad` = [before, after] elements more per dim, the last dim's pair first, and "
      "negative ones cut off; torch.nn.functional.pad";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {3, 5}}}, .attrs = {{"pad", ints({1, 2})}}},
      {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"pad", ints({1, 0, -1, 2})}, {"value", 7.5}}},
      {.inputs = {{f32, {2, 3, 5}}}, .attrs = {{"pad", ints({3, 4})}, {"mode", "reflect"}}},
      {.inputs = {{f32, {2, 3, 5}}}, .attrs = {{"pad", ints({3, 4, 1, 0})}, {"mode", "replicate"}}},
      {.inputs = {{f16, {2, 3, 5}}}, .attrs = {{"pad", ints({5, 1})}, {"mode", "circular"}}},
      {.inputs = {{i32, {4}}}, .attrs = {{"pad", ints({2, 2})}, {"value", -1.0}}},
      {.inputs = {{f32, {0, 3}}}, .attrs = {{"pad", ints({0, 0, 1, 1})}, {"value", 2.0}}},
      {.inputs = {{f8e4m3, {3, 5}}}, .attrs = {{"pad", ints({2, 1})}, {"value", -1.0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_pad
