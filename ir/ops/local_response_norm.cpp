#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_local_response_norm {
namespace {

std::vector<Type> infer(const InferContext& context) {
  require_float(context);
  const Type& x = *context.inputs[0];
  context.require(x.shape.size() >= 2, "x must be [N, C, ...]");
  const int64_t size = context.node.attr<int64_t>("size");
  context.require(size >= 1 && size < (int64_t{1} << 31), str("size ", size, " is out of range"));
  return {x};
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const Shape& shape = x->shape();
  const SymInt count = product(shape);
  if (count.is(0)) return {node.inputs[0]};
  const int64_t size = node.attr<int64_t>("size"), shorter = (size - 1) / 2, longer = size / 2;
  const bool before = node.attr<std::string>("longer_end") == "before";
  const int64_t lo = before ? longer : shorter, hi = before ? shorter : longer;
  // The sum over neighbouring channels, as a pool of the image [C, rest] that each x[n] is.
  const SymInt rest = product(std::span<const SymInt>(shape).subspan(2));
  Value* squares = b.reshape(b.unary("square", x), {shape[0], SymInt(1), shape[1], rest});
  Value* sum = b.op("avg_pool2d", {squares},
                    {{"kernel_size", ints({size, 1})},
                     {"stride", int64_t{1}},
                     {"padding", ints({lo, 0, hi, 0})},
                     {"divisor_override", int64_t{1}}});
  const auto number = [&](double value) { return b.scalar(x->dtype(), value); };
  const double alpha = number_attr(node, "alpha") / static_cast<double>(size);
  Value* base = b.add(b.mul(b.reshape(sum, shape), number(alpha)), number(number_attr(node, "k")));
  Value* divisor = b.op("pow", {base, number(number_attr(node, "beta"))});
  return {b.cast(b.div(x, divisor), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "local_response_norm";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  // If `size` is even, one more channel counts on one side: before the channel in PyTorch, after it
  // in ONNX.
  op.attrs = {{"size", AttrType::integer, std::nullopt},
              {"alpha", AttrType::number, 1e-4},
              {"beta", AttrType::number, 0.75},
              {"k", AttrType::number, 1.0},
              {"longer_end", AttrType::text, std::string("before"), {"before", "after"}}};
  op.doc =
      "x [N, C, ...] / (k + alpha * mean of squares over `size` channels around each)^beta; "
      "torch.nn.functional.local_response_norm, ONNX's LRN";
  op.infer = infer;
  op.compose = compose;
  op.samples = {
      {{{DType::f32, {2, 7, 3, 5}}}, {{"size", int64_t{3}}, {"alpha", 0.5}}},
      {{{DType::f32, {2, 5, 9}}},
       {{"size", int64_t{4}}, {"alpha", 1.0}, {"k", 2.0}, {"beta", 0.5}}},
      {{{DType::f32, {3, 6}}}, {{"size", int64_t{2}}, {"alpha", 1.0}, {"longer_end", "after"}}},
      {{{DType::f16, {1, 8, 4}}}, {{"size", int64_t{5}}, {"alpha", 1.0}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_local_response_norm
