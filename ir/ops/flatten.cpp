#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_flatten {
namespace {

Shape flattened(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  if (x.empty()) return {1};
  const int rank = static_cast<int>(x.size());
  const int first = dim_attr(context, "start_dim", rank), last = dim_attr(context, "end_dim", rank);
  context.require(first <= last, str("start_dim ", first, " is after end_dim ", last));
  SymInt joined = 1;
  for (int d = first; d <= last; ++d)
    joined = checked_size(context, joined, x[static_cast<size_t>(d)]);
  Shape result(x.begin(), x.begin() + first);
  result.push_back(joined);
  result.insert(result.end(), x.begin() + last + 1, x.end());
  return result;
}

}  // namespace

OpDef make() {
  OpDef op = regrouping(
      "flatten", "The dims from start_dim to end_dim as one; torch.flatten",
      {{"start_dim", AttrType::integer, int64_t{0}}, {"end_dim", AttrType::integer, int64_t{-1}}},
      flattened);
  using enum DType;
  op.samples = {{.inputs = {{f32, {2, 3, 4}}}},
                {.inputs = {{f32, {2, 3, 4, 5}}}, .attrs = {{"start_dim", 1}, {"end_dim", 2}}},
                {.inputs = {{f32, Shape{}}}},
                {.inputs = {{bf16, {2, 0, 4}}}, .attrs = {{"start_dim", 1}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_flatten
