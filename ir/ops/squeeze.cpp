#include <algorithm>

#include "ir/builder.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_squeeze {
namespace {

// Without dims, every dim of extent 1 goes; named dims of another extent stay, as in PyTorch.
Shape squeezed(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const auto dims = dim_list(context, "dim", static_cast<int>(x.size()));
  Shape result;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool named = dims.empty() || std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!named || !x[d].is(1)) result.push_back(x[d]);
  }
  return result;
}

}  // namespace

OpDef make() {
  OpDef op =
      regrouping("squeeze", "x without its dims of extent 1: those named, or all; torch.squeeze",
                 {{"dim", AttrType::ints, ints({}), {}, true}}, squeezed);
  using enum DType;
  op.samples = {{.inputs = {{f32, {1, 3, 1, 5}}}},
                {.inputs = {{f32, {1, 3, 1, 5}}}, .attrs = {{"dim", ints({0, 1})}}},
                {.inputs = {{f32, {2, 1}}}, .attrs = {{"dim", ints({-1})}}},
                {.inputs = {{f16, {1, 1}}}},
                {.inputs = {{f32, {1, 0}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_squeeze
