#include <optional>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_indexing.h"
#include "support/error.h"

namespace tcc::ir::ops::op_one_hot {
namespace {

int new_dim(const Node& node) { return dim_attr(node, "dim", node.inputs[0]->rank() + 1); }

const Value* given_values(const Node& node) {
  return node.inputs.size() > 1 ? node.inputs[1] : nullptr;
}

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  require_index(context, "x", x.dtype);
  DType dtype = DType::i64;
  if (context.inputs.size() > 1 && context.inputs[1]) {
    const Type& values = *context.inputs[1];
    context.require(values.shape.size() == 1 && values.shape[0].is(2),
                    str("values must be [off, on], not of shape ", shape_text(values.shape)));
    dtype = values.dtype;
  }
  const int dim = dim_attr(context, "dim", static_cast<int>(x.shape.size()) + 1);
  Shape shape = x.shape;
  shape.insert(shape.begin() + dim, symint_attr(context, "num_classes"));
  return {{dtype, checked_shape(context, shape)}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const int dim = new_dim(node);
  const SymInt classes = symint_attr(node, "num_classes");
  std::vector<SymInt> source(index.begin(), index.end());
  source.erase(source.begin() + dim);
  const Expr x = converted(context.operand(0, source), DType::i64);
  const Expr at = index_value(index[static_cast<size_t>(dim)]);
  const Expr hit = call(Fn::logical_or, {equal(x, at), equal(add(x, index_value(classes)), at)});
  if (!given_values(node))
    return select(hit, constant_int(DType::i64, 1), constant_int(DType::i64, 0));
  const SymInt off = 0, on = 1;
  return select(hit, context.operand(1, {&on, 1}), context.operand(1, {&off, 1}));
}

void reference(EvalContext& context) {
  RefTensor& out = context.outputs[0];
  const auto dim = static_cast<size_t>(new_dim(context.node));
  const int64_t classes = symint_attr(context.node, "num_classes").value();
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> source(index.begin(), index.end());
    source.erase(source.begin() + static_cast<std::ptrdiff_t>(dim));
    const int64_t given =
        context.inputs[0]->i[static_cast<size_t>(offset_of(source, context.inputs[0]->shape))];
    const bool hit = (given < 0 ? given + classes : given) == index[dim];
    if (given_values(context.node))
      copy_element(*context.inputs[1], hit, out, offset);
    else
      out.i[static_cast<size_t>(offset)] = hit;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "one_hot";
  op.operands = {"x", "values?"};
  op.attrs = {{"num_classes", AttrType::ints, std::nullopt, {}, true},
              {"dim", AttrType::integer, int64_t{-1}}};
  op.doc =
      "1 where the index along a new dim `dim` is x, 0 elsewhere, i64, or values[1] and values[0]; "
      "negative x count from the end, what is out of range is nowhere; "
      "torch.nn.functional.one_hot, ONNX OneHot";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {{.inputs = {{i64, {3, 5}}}, .attrs = {{"num_classes", 8}}},
                {.inputs = {{i32, Shape{}}}, .attrs = {{"num_classes", 4}}},
                {.inputs = {{i64, {4, 6}}, {f32, {2}}},
                 .attrs = {{"num_classes", 5}, {"dim", 1}},
                 .int_lo = -8},
                {.inputs = {{i32, {7}}, {boolean, {2}}},
                 .attrs = {{"num_classes", 3}, {"dim", 0}},
                 .int_lo = -4},
                {.inputs = {{i32, {5}}, {i32, {2}}}, .attrs = {{"num_classes", 1}}},
                {.inputs = {{i32, {0}}}, .attrs = {{"num_classes", 4}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_one_hot
