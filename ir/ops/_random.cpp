#include "ir/ops/_random.h"

#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_elementwise.h"
#include "support/error.h"

namespace tcc::ir::ops {

Expr random_element(Fn fn, const Node& node, std::span<const SymInt> index) {
  const SymInt number = linearize(index, node.outputs[0]->shape());
  return call(fn, {constant_int(DType::i64, node.attr<int64_t>("seed")),
                   constant_int(DType::i64, node.attr<int64_t>("offset")), index_value(number)});
}

OpDef random_op(std::string name, Fn fn, double (*reference)(const RandomStream&, int64_t i),
                std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true}),
              size_attr({"seed", AttrType::integer, int64_t{0}}),
              size_attr({"offset", AttrType::integer, int64_t{0}}),
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const DType dtype = context.node.attr<DType>("dtype");
    context.require(is_float(dtype), str("dtype must be a float type, not ", tcc::name(dtype)));
    return {{dtype, checked_shape(context, symint_list(context.node, "size"))}};
  };
  op.element = [fn](ElementContext& context, std::span<const SymInt> index) {
    return converted(random_element(fn, context.node(), index),
                     context.node().attr<DType>("dtype"));
  };
  op.reference = [reference](EvalContext& context) {
    const RandomStream stream = stream_of(context.node);
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
      {.inputs = {}, .attrs = {{"size", ints({2, 9})}, {"dtype", f16}}},
      {.inputs = {}, .attrs = {{"size", ints({9})}, {"seed", 3}, {"dtype", f64}}}};
  return op;
}

}  // namespace tcc::ir::ops
