#include "ir/ops/_random.h"

#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops {

Expr random_element(Fn fn, ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const SymInt number = linearize(index, node.outputs[0]->shape());
  const auto whole = [&](const char* name, int64_t place) {
    const Expr own = constant_int(DType::i64, node.attr<int64_t>(name));
    return node.inputs[0] ? add(context.operand(0, std::vector<SymInt>{place}), own) : own;
  };
  return call(fn, {whole("seed", 0), whole("offset", 1), index_value(number)});
}

void require_random_state(const InferContext& context, size_t k) {
  const Type* state = context.inputs[k];
  if (!state) return;
  context.require(state->dtype == DType::i64,
                  str("the random state must be i64, not ", tcc::name(state->dtype)));
  require_shape(context, k, {2}, "[seed, offset]");
}

OpDef random_op(std::string name, Fn fn, double (*reference)(const RandomStream&, int64_t i),
                std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.operands = {"state?"};
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true}),
              size_attr({"seed", AttrType::integer, int64_t{0}}),
              size_attr({"offset", AttrType::integer, int64_t{0}}),
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const DType dtype = context.node.attr<DType>("dtype");
    context.require(is_float(dtype), str("dtype must be a float type, not ", tcc::name(dtype)));
    require_random_state(context);
    return {{dtype, checked_shape(context, symint_list(context.node, "size"))}};
  };
  op.element = [fn](ElementContext& context, std::span<const SymInt> index) {
    return converted(random_element(fn, context, index), context.node().attr<DType>("dtype"));
  };
  op.reference = [reference](EvalContext& context) {
    const RandomStream stream = stream_of(context);
    RefTensor& out = context.outputs[0];
    for_each_index(out.shape, [&](std::span<const int64_t>, int64_t i) {
      out.f[static_cast<size_t>(i)] = reference(stream, i);
    });
  };
  using enum DType;
  op.samples = {
      {.inputs = {}, .attrs = {{"size", ints({5, 33})}, {"seed", 1234}}},
      {.inputs = {}, .attrs = {{"size", ints({7})}, {"seed", -1}, {"offset", int64_t{1} << 40}}},
      {.inputs = {}, .attrs = {{"size", ints({0, 3})}}},
      {.inputs = {{i64, {2}}}, .attrs = {{"size", ints({4, 5})}, {"seed", -3}}},
      {.inputs = {}, .attrs = {{"size", ints({2, 9})}, {"dtype", f16}}},
      {.inputs = {}, .attrs = {{"size", ints({9})}, {"seed", 3}, {"dtype", f64}}}};
  return op;
}

}  // namespace tcc::ir::ops
