#include "ir/ops/_blocks.h"

#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kSizeLimit = int64_t{1} << 20;

int64_t checked_size_attr(const InferContext& context, const char* attribute, size_t rank) {
  const int64_t size = context.node.attr<int64_t>(attribute);
  const size_t dims = context.inputs[0]->shape.size();
  context.require(dims >= rank, "x must have dims [..., channels, height, width]");
  context.require(size > 0 && size < kSizeLimit, str(attribute, " must be positive, not ", size));
  return size;
}

// The leading dims stay; `tail` names the dims behind them, counted from the first of those.
Value* permuted_tail(Builder& b, Value* x, const std::vector<int64_t>& tail) {
  std::vector<int64_t> dims;
  const int64_t leading = x->rank() - static_cast<int64_t>(tail.size());
  for (int64_t d = 0; d < leading; ++d) dims.push_back(d);
  for (const int64_t d : tail) dims.push_back(leading + d);
  return b.permute(x, dims);
}

Shape with_tail(const Shape& shape, const Shape& tail) {
  Shape result(shape.begin(), shape.end() - 3);
  result.insert(result.end(), tail.begin(), tail.end());
  return result;
}

}  // namespace

Value* space_to_channels(Builder& b, Value* x, int64_t size, bool blocks_first) {
  const Shape shape = x->shape();
  const size_t c = shape.size() - 3;
  const SymInt rows = floordiv(shape[c + 1], size), columns = floordiv(shape[c + 2], size);
  Value* split = b.reshape(x, with_tail(shape, {shape[c], rows, size, columns, size}));
  Value* moved = permuted_tail(
      b, split,
      blocks_first ? std::vector<int64_t>{2, 4, 0, 1, 3} : std::vector<int64_t>{0, 2, 4, 1, 3});
  return b.reshape(moved, with_tail(shape, {shape[c] * (size * size), rows, columns}));
}

Value* channels_to_space(Builder& b, Value* x, int64_t size, bool blocks_first) {
  const Shape shape = x->shape();
  const size_t c = shape.size() - 3;
  const SymInt channels = floordiv(shape[c], size * size), s = size;
  const SymInt &rows = shape[c + 1], &columns = shape[c + 2];
  Value* split =
      b.reshape(x, with_tail(shape, blocks_first ? Shape{s, s, channels, rows, columns}
                                                 : Shape{channels, s, s, rows, columns}));
  Value* moved = permuted_tail(
      b, split,
      blocks_first ? std::vector<int64_t>{2, 3, 0, 4, 1} : std::vector<int64_t>{0, 3, 1, 4, 2});
  return b.reshape(moved, with_tail(shape, {channels, rows * size, columns * size}));
}

Type space_to_channels_type(const InferContext& context, const char* attribute, size_t rank) {
  const int64_t size = checked_size_attr(context, attribute, rank);
  Type out = *context.inputs[0];
  const size_t c = out.shape.size() - 3;
  for (const size_t d : {c + 1, c + 2}) {
    context.require(out.shape[d].divisible_by(size),
                    str("height and width must be multiples of ", size, ", not ", out.shape[d]));
    out.shape[d] = floordiv(out.shape[d], size);
  }
  out.shape[c] = checked_size(context, out.shape[c], size * size);
  out.shape = checked_shape(context, out.shape);
  return out;
}

Type channels_to_space_type(const InferContext& context, const char* attribute, size_t rank) {
  const int64_t size = checked_size_attr(context, attribute, rank);
  Type out = *context.inputs[0];
  const size_t c = out.shape.size() - 3;
  context.require(out.shape[c].divisible_by(size * size),
                  str("channels, ", out.shape[c], ", must be a multiple of ", size * size));
  out.shape[c] = floordiv(out.shape[c], size * size);
  for (const size_t d : {c + 1, c + 2}) out.shape[d] = checked_size(context, out.shape[d], size);
  out.shape = checked_shape(context, out.shape);
  return out;
}

}  // namespace tcc::ir::ops
