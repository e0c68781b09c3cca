#include "ir/ops/_loss.h"

#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_reduction.h"
#include "support/error.h"

namespace tcc::ir::ops {

std::vector<Type> infer_class_loss(const InferContext& context) {
  require_float(context);
  const Type& input = *context.inputs[0];
  const Type& target = *context.inputs[1];
  context.require(!input.shape.empty(), "input must be [C], [N, C] or [N, C, d1, ...]");
  context.require(is_integer(target.dtype),
                  str("target must hold class indices, not ", name(target.dtype)));
  Shape expected = input.shape;
  expected.erase(expected.begin() + class_dim(input.shape));
  require_shape(context, 1, expected, "the input's shape without the classes");
  const Type* weight = context.inputs[2];
  context.require(!weight || is_float(weight->dtype), "weight must be a float tensor");
  require_shape(context, 2, {input.shape[static_cast<size_t>(class_dim(input.shape))]},
                "one weight per class");
  return {loss_type(context, input.dtype, expected)};
}

Value* class_loss(Builder& b, const Node& node, Value* log_prob, double smoothing) {
  const DType dtype = log_prob->dtype();
  const int dim = class_dim(log_prob->shape());
  Value* target = b.cast(node.inputs[1], DType::i64);
  const auto ignored = static_cast<double>(node.attr<int64_t>("ignore_index"));
  Value* counts = b.op("ne", {target, b.scalar(DType::i64, ignored)});
  Value* zero = b.scalar(dtype, 0);
  // An ignored index may be no class at all: class 0 is read in its place.
  Value* safe = b.op("where", {counts, target, b.scalar(DType::i64, 0)});
  Value* chosen = b.op("gather", {log_prob, b.unsqueeze(safe, dim)}, {{"dim", dim}});
  Value* loss = b.unary("neg", b.reshape(chosen, target->shape()));
  Value* weight = node.inputs[2] ? b.cast(node.inputs[2], dtype) : nullptr;
  Value* share = b.cast(counts, dtype);  // of each target in a mean
  if (weight) {
    Value* flat = b.reshape(safe, {product(safe->shape())});
    Value* of_target = b.reshape(b.op("gather", {weight, flat}, {{"dim", 0}}), target->shape());
    loss = b.mul(loss, of_target);
    share = b.op("where", {counts, of_target, zero});
  }
  if (smoothing != 0) {
    const int classes[] = {dim};
    Value* weighted =
        weight ? b.mul(log_prob, along_dim(b, weight, dim, log_prob->rank())) : log_prob;
    Value* sum = b.unary("neg", b.reduce("sum", weighted, {dim}));
    Value* uniform = b.div(sum, reduced_count(b, log_prob->shape(), classes, dtype));
    loss = b.mul(loss, b.scalar(dtype, 1 - smoothing));
    loss = b.add(loss, b.mul(uniform, b.scalar(dtype, smoothing)));
  }
  loss = b.op("where", {counts, loss, zero});
  const auto& reduction = node.attr<std::string>("reduction");
  if (reduction != "mean") return reduce_loss(b, loss, reduction);
  return b.div(b.reduce("sum", loss, {}), b.reduce("sum", share, {}));
}

AttrDef ignore_index_attr() { return {"ignore_index", AttrType::integer, int64_t{-100}}; }

}  // namespace tcc::ir::ops
