#include "ir/ops/_creation.h"

#include <optional>
#include <utility>

#include "ir/ops/_integers.h"

namespace tcc::ir::ops {

Expr constant_of(DType dtype, double value) {
  if (is_float(dtype)) return constant(compute_dtype(dtype), value);
  return constant_int(dtype, dtype == DType::boolean ? value != 0 : whole_value(value));
}

Expr constant_of(DType dtype, const Node& node, std::string_view key) {
  if (is_float(dtype) || dtype == DType::boolean) return constant_of(dtype, number_attr(node, key));
  return constant_int(dtype, whole_attr(node, key));
}

OpDef filling(std::string name, double value, std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.attrs = {{"size", AttrType::ints, std::nullopt, {}, true},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{context.node.attr<DType>("dtype"),
             checked_shape(context, symint_list(context.node, "size"))}};
  };
  op.compose = [value](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.splat(node.outputs[0]->dtype(), node.outputs[0]->shape(), value)};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {}, .attrs = {{"size", ints({3, 5})}}},
                {.inputs = {}, .attrs = {{"size", ints({2})}, {"dtype", DType::i64}}}};
  return op;
}

OpDef filling_like(std::string name, std::function<Attr(const Node&)> value, std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> { return {*context.inputs[0]}; };
  op.compose = [value = std::move(value)](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.op("full", {},
                 {{"size", node.outputs[0]->shape()},
                  {"fill_value", value(node)},
                  {"dtype", node.outputs[0]->dtype()}})};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {3, 5}}}}, {.inputs = {{DType::i32, {0, 2}}}}};
  return op;
}

}  // namespace tcc::ir::ops
