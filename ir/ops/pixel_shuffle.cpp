#include <algorithm>
#include <optional>

#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_pixel_shuffle {
namespace {

int64_t factor(const Node& node) { return node.attr<int64_t>("upscale_factor"); }

Shape shape(const InferContext& context) {
  Shape shape = context.inputs[0]->shape;
  const int64_t r = factor(context.node);
  context.require(shape.size() >= 3, "x must have dims [..., channels, height, width]");
  context.require(r > 0 && r < (1 << 20), str("upscale_factor must be positive, not ", r));
  const size_t c = shape.size() - 3;
  context.require(shape[c].divisible_by(r * r),
                  str("channels, ", shape[c], ", must be a multiple of ", r * r));
  shape[c] = floordiv(shape[c], r * r);
  shape[c + 1] = checked_size(context, shape[c + 1], r);
  shape[c + 2] = checked_size(context, shape[c + 2], r);
  return checked_shape(context, shape);
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  const int64_t r = factor(node);
  std::vector<SymInt> result(index.begin(), index.end());
  const size_t c = index.size() - 3;
  const SymInt &y = index[c + 1], &x = index[c + 2];
  result[c] = index[c] * r * r + mod(y, r) * r + mod(x, r);
  result[c + 1] = floordiv(y, r);
  result[c + 2] = floordiv(x, r);
  return result;
}

std::vector<SymInt> inverse(const Node& node, std::span<const SymInt> index) {
  const int64_t r = factor(node);
  std::vector<SymInt> result(index.begin(), index.end());
  const size_t c = index.size() - 3;
  const SymInt within = mod(index[c], r * r);
  result[c] = floordiv(index[c], r * r);
  result[c + 1] = index[c + 1] * r + floordiv(within, r);
  result[c + 2] = index[c + 2] * r + mod(within, r);
  return result;
}

void reference(EvalContext& context) {
  const int64_t r = factor(context.node);
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    std::copy(index.begin(), index.end(), from.begin());
    const size_t c = index.size() - 3;
    from[c] = (index[c] * r + index[c + 1] % r) * r + index[c + 2] % r;
    from[c + 1] = index[c + 1] / r;
    from[c + 2] = index[c + 2] / r;
  });
}

}  // namespace

OpDef make() {
  OpDef op =
      view({.name = "pixel_shuffle",
            .doc = "[..., C r^2, H, W] as [..., C, H r, W r]; torch.nn.functional.pixel_shuffle",
            .attrs = {{"upscale_factor", AttrType::integer, std::nullopt}},
            .shape = shape,
            .source = source,
            .inverse = inverse,
            .reference = reference});
  op.samples = {{.inputs = {{DType::f32, {2, 8, 3, 5}}}, .attrs = {{"upscale_factor", 2}}},
                {.inputs = {{DType::f32, {9, 2, 1}}}, .attrs = {{"upscale_factor", 3}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_pixel_shuffle
