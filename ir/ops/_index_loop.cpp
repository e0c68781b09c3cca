#include "ir/ops/_index_loop.h"

namespace tcc::ir::ops {

std::vector<int64_t> strides_of(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + index[d];
  return offset;
}

int64_t broadcast_offset(std::span<const int64_t> index, std::span<const int64_t> shape) {
  const size_t dropped = index.size() - shape.size();
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) offset = offset * shape[d] + index[dropped + d];
  return offset;
}

std::vector<int64_t> index_of(int64_t offset, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = offset % shape[d];
    offset /= shape[d];
  }
  return index;
}

void advance(std::vector<int64_t>& index, std::span<const int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return;
    index[d] = 0;
  }
}

int64_t count_of(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

}  // namespace tcc::ir::ops
