#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_flip {
namespace {

std::vector<SymInt> mirrored(const Node& node, std::span<const SymInt> index) {
  const Shape& shape = node.inputs[0]->shape();
  std::vector<SymInt> result(index.begin(), index.end());
  for (int dim : dim_list(node, "dims", static_cast<int>(index.size()))) {
    const auto d = static_cast<size_t>(dim);
    result[d] = shape[d] - 1 - index[d];
  }
  return result;
}

void reference(EvalContext& context) {
  const auto& x = context.inputs[0]->shape;
  auto strides = strides_of(x);
  int64_t offset = 0;
  for (int dim : dim_list(context.node, "dims", static_cast<int>(x.size()))) {
    const auto d = static_cast<size_t>(dim);
    offset += (x[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  copy_strided(context, offset, strides);
}

}  // namespace

OpDef make() {
  OpDef op = view({.name = "flip",
                   .doc = "x with the order of elements along `dims` reversed; torch.flip",
                   .attrs = {{"dims", AttrType::ints, std::nullopt, {}, true}},
                   .shape =
                       [](const InferContext& context) {
                         const Shape& x = context.inputs[0]->shape;
                         dim_list(context, "dims", static_cast<int>(x.size()));
                         return x;
                       },
                   .source = mirrored,
                   .inverse = mirrored,
                   .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 9}}}, .attrs = {{"dims", ints({1})}}},
                {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"dims", ints({0, -1})}}},
                {.inputs = {{f16, {0, 3}}}, .attrs = {{"dims", ints({0})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_flip
