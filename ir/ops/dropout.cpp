#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_random.h"
#include "support/error.h"

namespace tcc::ir::ops::op_dropout {

OpDef make() {
  OpDef op;
  op.name = "dropout";
  op.kind = OpKind::composite;
  op.operands = {"x", "state?"};
  op.attrs = {{"p", AttrType::number, 0.5},
              {"training", AttrType::boolean, false},
              {"seed", AttrType::integer, int64_t{0}},
              {"offset", AttrType::integer, int64_t{0}}};
  op.doc =
      "x itself; in training, 0 with probability p (where `rand` is below it), else x / (1 - p); "
      "`state` (i64 [2]) is added "
      "to seed and offset; "
      "torch.nn.functional.dropout";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const double p = number_attr(context.node, "p");
    context.require(p >= 0 && p <= 1, str("p must lie between 0 and 1, not ", p));
    context.require(is_float(context.inputs[0]->dtype),
                    str("is not defined for ", name(context.inputs[0]->dtype)));
    require_random_state(context, 1);
    return {*context.inputs[0]};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const double p = number_attr(node, "p");
    if (!node.attr<bool>("training") || p == 0) return {b.unary("identity", x)};
    const auto scalar = [&](double value) { return b.scalar(x->dtype(), value); };
    if (p == 1) return {b.mul(x, scalar(0))};
    Value* uniform = b.op("rand", {node.inputs[1]},
                          {{"size", x->shape()},
                           {"seed", node.attr<int64_t>("seed")},
                           {"offset", node.attr<int64_t>("offset")}});
    Value* dropped = b.op("lt", {uniform, b.scalar(DType::f32, p)});
    Value* scaled = b.div(b.compute(x), b.scalar(compute_dtype(x->dtype()), 1 - p));
    return {b.op("where", {dropped, scalar(0), b.cast(scaled, x->dtype())})};
  };
  op.samples = {
      {.inputs = {{DType::f32, {5, 7}}}},
      {.inputs = {{DType::f32, {5, 70}}}, .attrs = {{"p", 0.25}, {"training", true}, {"seed", 5}}},
      {.inputs = {{DType::f16, {9, 4}}, {DType::i64, {2}}}, .attrs = {{"training", true}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_dropout
