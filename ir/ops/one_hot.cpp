#include <optional>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_indexing.h"

namespace tcc::ir::ops {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  require_index(context, "x", x.dtype);
  Shape shape = x.shape;
  shape.push_back(symint_attr(context, "num_classes"));
  return {{DType::i64, checked_shape(context, shape)}};
}

}  // namespace

OpDef make_one_hot() {
  OpDef op;
  op.name = "one_hot";
  op.operands = {"x"};
  op.attrs = {{"num_classes", AttrType::ints, std::nullopt, {}, true}};
  op.doc =
      "1 where the index along a new last dim is x, 0 elsewhere, i64; "
      "torch.nn.functional.one_hot";
  op.infer = infer;
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const Expr x = converted(context.operand(0, index.first(index.size() - 1)), DType::i64);
    return select(equal(x, index_value(index.back())), constant_int(DType::i64, 1),
                  constant_int(DType::i64, 0));
  };
  op.reference = [](EvalContext& context) {
    for_each_index(context.outputs[0].shape, [&](std::span<const int64_t> index, int64_t offset) {
      const auto from = static_cast<size_t>(offset / context.outputs[0].shape.back());
      context.outputs[0].i[static_cast<size_t>(offset)] =
          context.inputs[0]->i[from] == index.back();
    });
  };
  using enum DType;
  op.samples = {{.inputs = {{i64, {3, 5}}}, .attrs = {{"num_classes", 8}}},
                {.inputs = {{i32, Shape{}}}, .attrs = {{"num_classes", 4}}},
                {.inputs = {{i32, {0}}}, .attrs = {{"num_classes", 4}}}};
  return op;
}

}  // namespace tcc::ir::ops
