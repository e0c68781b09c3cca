#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_roll {
namespace {

// Without dims, the flattened x is rolled.
std::vector<SymInt> rolled(const Node& node, std::span<const SymInt> index, int sign) {
  const Shape& shape = node.inputs[0]->shape();
  const auto dims = dim_list(node, "dims", static_cast<int>(shape.size()));
  const auto shifts = int_list(node, "shifts");
  const auto turn = [&](const SymInt& at, int64_t shift, const SymInt& extent) {
    return extent.is(0) ? at : mod(at + sign * shift, extent);
  };
  std::vector<SymInt> result(index.begin(), index.end());
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto d = static_cast<size_t>(dims[k]);
    result[d] = turn(result[d], shifts[k], shape[d]);
  }
  const SymInt count = product(shape);
  if (!dims.empty() || count.is(0)) return result;
  return delinearize(turn(linearize(index, shape), shifts[0], count), shape);
}

Shape shape(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const size_t dims = dim_list(context, "dims", static_cast<int>(x.size())).size();
  const auto shifts = int_list(context, "shifts");
  context.require(shifts.size() == std::max<size_t>(dims, 1),
                  str("shifts must hold one number per dim, not ", shifts.size(), " for ", dims));
  for (int64_t shift : shifts)
    context.require(shift > -kUnbounded && shift < kUnbounded, str("shift ", shift, " is too far"));
  return x;
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  const auto dims = dim_list(context.node, "dims", static_cast<int>(x.shape.size()));
  const auto shifts = int_list(context.node, "shifts");
  const auto wrap = [](int64_t at, int64_t extent) { return (at % extent + extent) % extent; };
  for_each_index(x.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> to(index.begin(), index.end());
    for (size_t k = 0; k < dims.size(); ++k) {
      const auto d = static_cast<size_t>(dims[k]);
      to[d] = wrap(to[d] + shifts[k], x.shape[d]);
    }
    const int64_t target =
        dims.empty() ? wrap(offset + shifts[0], x.numel()) : offset_of(to, x.shape);
    copy_element(x, offset, context.outputs[0], target);
  });
}

}  // namespace

OpDef make() {
  OpDef op = view(
      {.name = "roll",
       .doc = "x shifted along dims (or flattened, without dims), what falls off coming in at the "
              "other end; torch.roll",
       .attrs = {{"shifts", AttrType::ints, std::nullopt, {}, true},
                 {"dims", AttrType::ints, ints({}), {}, true}},
       .shape = shape,
       .source = [](const Node& node,
                    std::span<const SymInt> index) { return rolled(node, index, -1); },
       .inverse = [](const Node& node,
                     std::span<const SymInt> index) { return rolled(node, index, 1); },
       .reference = reference});
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {4, 9}}}, .attrs = {{"shifts", 2}, {"dims", 1}}},
      {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"shifts", ints({-1, 5})}, {"dims", ints({0, -1})}}},
      {.inputs = {{f32, {3, 5}}}, .attrs = {{"shifts", 7}}},
      {.inputs = {{f16, {0, 3}}}, .attrs = {{"shifts", 1}, {"dims", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_roll
