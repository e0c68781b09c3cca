#include "ir/append.h"
#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_append {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Value& state = *context.node.inputs[0];
  const Type& rows = *context.inputs[1];
  context.require(state.kind == Value::Kind::state, "'" + state.name + "' is no state");
  const auto dim =
      static_cast<size_t>(dim_attr(context, "dim", static_cast<int>(state.shape().size())));
  bool fits = rows.dtype == state.dtype() && rows.shape.size() == state.shape().size();
  for (size_t d = 0; fits && d < rows.shape.size(); ++d)
    fits = d == dim || rows.shape[d] == state.shape()[d];
  context.require(fits, str("state '", state.name, "' is ", to_string(state.type),
                            ", the rows are ", to_string(rows), ": they differ beside dim ", dim));
  const SymInt length = symint_attr(context, "length");
  const SymInt room = state.shape()[dim] - length - rows.shape[dim];
  if (length.is_const() && length.value() < 0)
    context.fail(str("the length of state '", state.name, "' is ", length));
  if (room.is_const() && room.value() < 0)
    context.fail(str("state '", state.name, "' has room for ", state.shape()[dim], " along dim ",
                     dim, ", not for ", length, " + ", rows.shape[dim]));
  return {state.type};
}

// An element of the rows: no other is stored.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Append append = append_of(context.node());
  std::vector<SymInt> at(index.begin(), index.end());
  SymInt& row = at[static_cast<size_t>(append.dim)];
  row = row - append.length;
  return context.operand(1, at);
}

void reference(EvalContext& context) {
  const Append append = append_of(context.node);
  context.outputs[0] = *context.inputs[0];
  const auto dim = static_cast<size_t>(append.dim);
  const RefTensor& rows = *context.inputs[1];
  for_each_index(rows.shape, [&](std::span<const int64_t> index, int64_t from) {
    std::vector<int64_t> at(index.begin(), index.end());
    at[dim] += append.length.value();
    copy_element(rows, from, context.outputs[0], offset_of(at, context.outputs[0].shape));
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "append";
  op.operands = {"state", "rows"};
  op.attrs = {{"dim", AttrType::integer, int64_t{0}},
              size_attr({"length", AttrType::ints, std::nullopt, {}, true})};
  op.doc =
      "state with rows in it, from `length` on along dim: it is the state's value from the next "
      "run on, and kernels write the rows alone. An open dim as `length` is the state's size, "
      "which grows by the rows with each run";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.stores = true;
  op.appends = true;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {3, 33}}, {f32, {2, 33}}}, .attrs = {{"length", 1}}},
      {.inputs = {{bf16, {2, 9, 40}}, {bf16, {2, 1, 40}}}, .attrs = {{"dim", 1}, {"length", 7}}},
      {.inputs = {{i64, {2, 3, 5, 3}}, {i64, {2, 3, 5, 3}}}, .attrs = {{"dim", -2}, {"length", 0}}},
      {.inputs = {{boolean, {7}}, {boolean, {3}}}, .attrs = {{"length", 2}}},
      {.inputs = {{f16, {4, 5}}, {f16, {4, 2}}}, .attrs = {{"dim", 1}, {"length", 3}}},
      {.inputs = {{f32, {4, 3}}, {f32, {0, 3}}}, .attrs = {{"length", 4}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_append
