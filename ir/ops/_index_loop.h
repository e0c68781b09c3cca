// Reference functions are made of these loops over the elements of row-major host tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/parallel.h"

namespace tcc::ir::ops {

// Returns the strides of a row-major tensor, in elements.
std::vector<int64_t> strides_of(std::span<const int64_t> shape);
// Returns the offset of `index` in a row-major tensor of `shape`.
int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> shape);
// Returns the offset in a tensor of `shape` of the element that broadcasting puts at `index`:
// missing leading dims and dims of extent 1 are ignored.
int64_t broadcast_offset(std::span<const int64_t> index, std::span<const int64_t> shape);
// Returns the index of element `offset` of a row-major tensor of `shape`, none of whose dims is 0.
std::vector<int64_t> index_of(int64_t offset, std::span<const int64_t> shape);
// Steps to the next index in row-major order; wraps to zeros after the last.
void advance(std::vector<int64_t>& index, std::span<const int64_t> shape);
int64_t count_of(std::span<const int64_t> shape);

// Calls body(index, offset) for every element of a row-major tensor of `shape`, on several threads.
template <class Body>
void for_each_index(std::span<const int64_t> shape, const Body& body) {
  constexpr int64_t grain = int64_t{1} << 13;
  const int64_t count = count_of(shape);
  if (count == 0) return;
  parallel_for(0, count, grain, [&](int64_t first, int64_t last) {
    std::vector<int64_t> index = index_of(first, shape);
    for (int64_t offset = first; offset < last; ++offset, advance(index, shape))
      body(std::span<const int64_t>(index), offset);
  });
}

}  // namespace tcc::ir::ops
