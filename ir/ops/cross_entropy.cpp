#include "ir/ops/_loss.h"
#include "ir/ops/_norm.h"

namespace tcc::ir::ops::op_cross_entropy {

OpDef make() {
  OpDef op;
  op.name = "cross_entropy";
  op.kind = OpKind::composite;
  op.operands = {"input", "target", "weight?"};
  op.attrs = {ignore_index_attr(),
              loss_reduction_attr(),
              {"label_smoothing", AttrType::number, 0.0},
              {"return_log_prob", AttrType::boolean, false}};
  op.results = {"loss", "log_prob"};
  op.num_results = [](const Node& node) { return node.attr<bool>("return_log_prob") ? 2 : 1; };
  op.doc =
      "nll_loss of log_softmax(input [N, C, ...]) against class indices in target [N, ...], with "
      "an optional weight per class; the log_softmax too, if asked for; "
      "torch.nn.functional.cross_entropy";
  op.infer = [](const InferContext& context) {
    const double smoothing = number_attr(context.node, "label_smoothing");
    context.require(smoothing >= 0 && smoothing <= 1, "label_smoothing must be between 0 and 1");
    std::vector<Type> types = infer_class_loss(context);
    if (context.node.attr<bool>("return_log_prob")) types.push_back(*context.inputs[0]);
    return types;
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* input = node.inputs[0];
    Value* log_prob = b.op("log_softmax", {b.compute(input)}, {{"dim", class_dim(input->shape())}});
    Value* loss = class_loss(b, node, log_prob, number_attr(node, "label_smoothing"));
    std::vector<Value*> results = {b.cast(loss, input->dtype())};
    if (node.attr<bool>("return_log_prob")) results.push_back(b.cast(log_prob, input->dtype()));
    return results;
  };
  op.samples = {
      {{{DType::f32, {5, 8}}, {DType::i64, {5}}}},
      {{{DType::f32, {2, 8, 3}}, {DType::i64, {2, 3}}},
       {{"reduction", "none"}, {"ignore_index", 2}}},
      {{{DType::f32, {33, 10}}, {DType::i64, {33}}},
       {{"label_smoothing", 0.1}, {"ignore_index", 3}}},
      {{{DType::f32, {8}}, {DType::i64, {}}}},
      {{{DType::f16, {4, 1000}}, {DType::i32, {4}}}, {{"reduction", "sum"}}},
      {{{DType::bf16, {6, 130}}, {DType::i64, {6}}}},
      {{{DType::f32, {3, 5, 2}}, {DType::i64, {3, 2}}, {DType::f32, {5}}},
       {{"ignore_index", 2}, {"return_log_prob", true}},
       0.5,
       2},
      {{{DType::f32, {7, 8}}, {DType::i64, {7}}, {DType::f32, {8}}},
       {{"label_smoothing", 0.2}, {"reduction", "none"}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_cross_entropy
