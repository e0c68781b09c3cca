#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_reduction.h"
#include "support/error.h"

namespace tcc::ir::ops::op_multinomial {
namespace {

std::vector<Type> infer(const InferContext& context) {
  require_float(context);
  const Shape& x = context.inputs[0]->shape;
  const auto count = context.node.attr<int64_t>("num_samples");
  context.require(x.size() == 1 || x.size() == 2,
                  str("x must be [C] or [N, C], not ", shape_text(x)));
  context.require(!x.back().is(0), "there is no class to draw");
  context.require(count >= 0, "num_samples must not be negative");
  context.require(context.node.attr<bool>("replacement"),
                  "drawing without replacement is not supported");
  Shape out = x;
  out.back() = count;
  return {{DType::i64, checked_shape(context, out)}};
}

// The classes lie one after the other on a line, each as long as its weight: the class drawn is the
// one at a random place, that is, how many classes end at or before it.
std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const int last = x->rank() - 1;
  const SymInt classes = x->shape().back();
  Value* ends = b.op("cumsum", {x}, {{"dim", last}});
  Value* total = b.slice(ends, last, classes - 1, classes);
  Value* place = b.op("rand", {},
                      {{"size", node.outputs[0]->shape()},
                       {"seed", node.attr<int64_t>("seed")},
                       {"offset", node.attr<int64_t>("offset")},
                       {"dtype", x->dtype()}});
  // The limit is so far below 1 that the product with the total stays below the total: a class of
  // no weight at the end is never drawn.
  place = b.mul(b.op("clamp", {place}, {{"max", 1 - 0x1p-23}}), total);
  Value* passed = b.op("le", {b.unsqueeze(ends, last), b.unsqueeze(place, last + 1)});
  Value* index = b.reduce("sum", passed, {last + 1});
  Value* highest = b.sub(size_scalar(b, classes, DType::i64), b.scalar(DType::i64, 1));
  return {b.op("minimum", {index, highest})};  // weights of 0 alone have no place
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "multinomial";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"num_samples", AttrType::integer, std::nullopt},
              {"replacement", AttrType::boolean, false},
              {"seed", AttrType::integer, int64_t{0}},
              {"offset", AttrType::integer, int64_t{0}}};
  op.doc =
      "num_samples indices per row of x [C] or [N, C], each drawn with the probability of its "
      "weight in x among the row's, with replacement only; torch.multinomial";
  op.infer = infer;
  op.compose = compose;
  op.tie_sensitive = true;
  using enum DType;
  op.samples = {{{{f32, {3, 7}}}, {{"num_samples", 20}, {"replacement", true}, {"seed", 3}}, 0, 1},
                {{{f32, {1}}}, {{"num_samples", 4}, {"replacement", true}}, 1, 2},
                {{{f32, {5}}}, {{"num_samples", 1}, {"replacement", true}, {"offset", 9}}, 0, 1}};
  return op;
}

}  // namespace tcc::ir::ops::op_multinomial
