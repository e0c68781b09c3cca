#include "ir/ops/_loss.h"

#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
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
  if (smoothing != 0) {
    const int classes[] = {dim};
    Value* sum = b.unary("neg", b.reduce("sum", log_prob, {dim}));
    Value* uniform = b.div(sum, reduced_count(b, log_prob->shape(), classes, dtype));
    loss = b.mul(loss, b.scalar(dtype, 1 - smoothing));
    loss = b.add(loss, b.mul(uniform, b.scalar(dtype, smoothing)));
  }
  loss = b.op("where", {counts, loss, zero});
  const auto& reduction = node.attr<std::string>("reduction");
  if (reduction != "mean") return reduce_loss(b, loss, reduction);
  Value* total = b.reduce("sum", loss, {});
  return b.div(total, b.reduce("sum", b.cast(counts, dtype), {}));
}

AttrDef ignore_index_attr() { return {"ignore_index", AttrType::integer, int64_t{-100}}; }

}  // namespace tcc::ir::ops
