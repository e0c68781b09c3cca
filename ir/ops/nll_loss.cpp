#include "ir/ops/_loss.h"
#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_nll_loss {

OpDef make() {
  OpDef op;
  op.name = "nll_loss";
  op.kind = OpKind::composite;
  op.operands = {"log_prob", "target", "weight?"};
  op.attrs = {ignore_index_attr(), loss_reduction_attr()};
  op.doc =
      "Minus the log-probability that log_prob [N, C, ...] gives to each class index in target [N, "
      "...], times its class's weight; a mean is divided by the weights of the targets that are "
      "not ignore_index; torch.nn.functional.nll_loss";
  op.infer = infer_class_loss;
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* log_prob = node.inputs[0];
    return {b.cast(class_loss(b, node, b.compute(log_prob), 0), log_prob->dtype())};
  };
  op.samples = {
      {{{DType::f32, {5, 8}}, {DType::i64, {5}}}},
      {{{DType::f32, {2, 8, 3}}, {DType::i64, {2, 3}}},
       {{"reduction", "none"}, {"ignore_index", 2}}},
      {{{DType::f16, {4, 9}}, {DType::i32, {4}}}, {{"reduction", "sum"}}},
      {{{DType::f32, {2, 8, 3, 5}}, {DType::i64, {2, 3, 5}}, {DType::f32, {8}}},
       {{"ignore_index", 2}},
       0.5,
       2},
      {{{DType::f32, {2, 8, 3}}, {DType::i64, {2, 3}}, {DType::f32, {8}}}, {{"reduction", "none"}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_nll_loss
