#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/ops/_permutation.h"

namespace tcc::ir::ops::op_transpose {
namespace {

std::vector<int> swapped(const Node& node, int rank) {
  std::vector<int> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  if (rank == 0) return dims;  // dims 0 and -1 of a scalar: nothing to swap
  std::swap(dims[static_cast<size_t>(dim_attr(node, "dim0", rank))],
            dims[static_cast<size_t>(dim_attr(node, "dim1", rank))]);
  return dims;
}

void check(const InferContext& context) {
  const int rank = std::max(1, static_cast<int>(context.inputs[0]->shape.size()));
  dim_attr(context, "dim0", rank);
  dim_attr(context, "dim1", rank);
}

}  // namespace

OpDef make() {
  OpDef op = permuting(
      "transpose", "x with dims dim0 and dim1 swapped; torch.transpose",
      {{"dim0", AttrType::integer, std::nullopt}, {"dim1", AttrType::integer, std::nullopt}}, check,
      swapped);
  using enum DType;
  op.samples = {{.inputs = {{f32, {33, 65}}}, .attrs = {{"dim0", 0}, {"dim1", 1}}},
                {.inputs = {{f32, {2, 3, 4, 5}}}, .attrs = {{"dim0", 1}, {"dim1", -1}}},
                {.inputs = {{bf16, {1, 7}}}, .attrs = {{"dim0", -2}, {"dim1", -1}}},
                {.inputs = {{f32, {0, 3}}}, .attrs = {{"dim0", 0}, {"dim1", 1}}},
                {.inputs = {{f8e5m2, {64, 33}}}, .attrs = {{"dim0", 0}, {"dim1", 1}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_transpose
