#include <optional>

#include "ir/builder.h"
#include "ir/ops/_permutation.h"
#include "support/error.h"

namespace tcc::ir::ops::op_permute {
namespace {

void check(const InferContext& context) {
  const int rank = static_cast<int>(context.inputs[0]->shape.size());
  const auto dims = dim_list(context, "dims", rank);
  context.require(static_cast<int>(dims.size()) == rank,
                  str("dims must name each of the ", rank, " dims once, not ",
                      shape_text(symint_list(context.node, "dims"))));
}

}  // namespace

OpDef make() {
  OpDef op = permuting("permute", "Dim d of the result is dim dims[d] of x; torch.permute",
                       {{"dims", AttrType::ints, std::nullopt, {}, true}}, check,
                       [](const Node& node, int rank) { return dim_list(node, "dims", rank); });
  using enum DType;
  op.samples = {{.inputs = {{f32, {33, 65}}}, .attrs = {{"dims", ints({1, 0})}}},
                {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"dims", ints({2, 0, 1})}}},
                {.inputs = {{f16, {2, 3, 4, 5}}}, .attrs = {{"dims", ints({0, -2, 1, -1})}}},
                {.inputs = {{f32, {1, 0, 3}}}, .attrs = {{"dims", ints({1, 2, 0})}}},
                {.inputs = {{f32, Shape{}}}, .attrs = {{"dims", ints({})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_permute
