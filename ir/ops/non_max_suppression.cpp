#include <algorithm>

#include "ir/counted_dims.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_counted.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_sort.h"
#include "support/error.h"

namespace tcc::ir::ops::op_non_max_suppression {
namespace {

enum Operand : size_t { kBoxes, kScores, kMost, kIou, kScore };

std::vector<Type> infer(const InferContext& context) {
  require_float(context, kBoxes);
  require_float(context, kScores);
  const Shape &boxes = context.inputs[kBoxes]->shape, &scores = context.inputs[kScores]->shape;
  context.require(boxes.size() == 3 && may_be_equal(boxes[2], 4),
                  str("boxes must be [batch, n, 4], not ", shape_text(boxes)));
  context.require(
      scores.size() == 3 && may_be_equal(scores[0], boxes[0]) && may_be_equal(scores[2], boxes[1]),
      str("scores must be [batch, classes, n] with the boxes' batch and n, not ",
          shape_text(scores), " for boxes ", shape_text(boxes)));
  for (const size_t k : {kMost, kIou, kScore}) {
    const Type* number = context.inputs[k];
    if (!number) continue;
    const std::string& name = context.node.op->operands[k];
    context.require(is_float(number->dtype) == (k != kMost) && number->dtype != DType::boolean &&
                        may_be_equal(product(number->shape), 1),
                    str(name.substr(0, name.size() - 1), " is ", to_string(*number), ", not one ",
                        k == kMost ? "integer" : "float"));
  }
  return {{DType::i64, {counted_size(context), 3}}};
}

// At most so many rows: all boxes, or as many of each class as a constant says.
SymInt most_rows(const Node& node) {
  const Shape& scores = node.inputs[kScores]->shape();
  SymInt each = scores[2];
  const Value* most = node.inputs[kMost];
  if (!most) each = 0;
  if (most && most->is_constant() && most->data && !most->is_mutable)
    each = min(each, std::max<int64_t>(most->data->load()->get_int(0), 0));
  return scores[0] * scores[1] * each;
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value *boxes = node.inputs[kBoxes], *scores = node.inputs[kScores];
  const SymInt n = boxes->shape()[1], classes = scores->shape()[1];
  const auto number = [&](size_t k, DType dtype) {
    Value* given = node.inputs[k];
    return given ? b.cast(b.reshape(given, {}), dtype) : b.scalar(dtype, 0);
  };
  const auto sorted = sorted_along(b, scores, 2, true, 0);
  Value *ranked = sorted[0], *order = sorted[1];  // [batch, classes, n], the best first
  Shape each = scores->shape();
  Value* valid = node.inputs[kScore] ? b.op("gt", {ranked, number(kScore, scores->dtype())})
                                     : b.splat(DType::boolean, each, 1);
  each.push_back(4);
  Value* chosen =
      b.op("gather", {b.expand(b.unsqueeze(boxes, 1), each), b.expand(b.unsqueeze(order, 3), each)},
           {{"dim", int64_t{2}}});
  Value* kept = b.op("suppress", {chosen, valid, number(kIou, boxes->dtype())},
                     {{"center", node.attr<int64_t>("center_point_box") == 1}});
  Value* counts = b.op("cumsum", {b.cast(kept, DType::i64)}, {{"dim", int64_t{2}}});
  kept = b.op("logical_and", {kept, b.op("le", {counts, number(kMost, DType::i64)})});

  const SymInt total = product(scores->shape());
  Value* places = places_of(b, b.reshape(kept, {total}), size_of(node), most_rows(node));
  const auto size = [&](const SymInt& value) {
    return b.op("size_value", {}, {{"size", shape_attr({max(value, 1)})}});
  };
  Value* batch = b.op("floor_divide", {places, size(classes * n)});
  Value* of_class = b.op("remainder", {b.op("floor_divide", {places, size(n)}), size(classes)});
  Value* box = select_places(b, b.reshape(order, {total}), 0, places);
  return {b.op("stack", {batch, of_class, box}, {{"dim", int64_t{1}}})};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "non_max_suppression";
  op.kind = OpKind::composite;
  op.operands = {"boxes", "scores", "max_output_boxes_per_class?", "iou_threshold?",
                 "score_threshold?"};
  op.attrs = {counted_size_attr(), {"center_point_box", AttrType::integer, int64_t{0}}};
  op.doc =
      "The best boxes of each batch and class that overlap no better one by more than "
      "iou_threshold (0 if omitted): rows [batch, class, box], i64 [size, 3], the best first, at "
      "most max_output_boxes_per_class (none if omitted); boxes [batch, n, 4] are two opposite "
      "corners, or x, y, width, height where center_point_box is 1; scores [batch, classes, n] "
      "must "
      "be above score_threshold; each run counts the rows and gives the dim `size` their number; "
      "ONNX NonMaxSuppression";
  op.tie_sensitive = true;
  op.infer = infer;
  op.most_counted = most_rows;
  op.compose = compose;
  using enum DType;
  const Attr size = shape_attr({SymInt::symbol("N")});
  const Type one{f32, {1}}, most{i64, {1}};
  op.samples = {{.inputs = {{f32, {1, 30, 4}}, {f32, {1, 1, 30}}, most, one, one},
                 .attrs = {{"size", size}},
                 .lo = 0,
                 .hi = 1},
                {.inputs = {{f32, {2, 40, 4}}, {f32, {2, 3, 40}}, {i64, Shape{}}, one},
                 .attrs = {{"size", size}, {"center_point_box", int64_t{1}}},
                 .lo = 0,
                 .hi = 1,
                 .int_hi = 30},
                {.inputs = {{f16, {1, 9, 4}}, {f16, {1, 2, 9}}, most, {f16, Shape{}}},
                 .attrs = {{"size", size}},
                 .lo = 0,
                 .hi = 1},
                {.inputs = {{f32, {1, 5, 4}}, {f32, {1, 2, 5}}}, .attrs = {{"size", size}}},
                {.inputs = {{f32, {2, 0, 4}}, {f32, {2, 3, 0}}, most}, .attrs = {{"size", size}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_non_max_suppression
