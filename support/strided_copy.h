// Copies of tensors between orders of dims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tcc {

// Copies element `index` of `shape` from sum(index * from_strides) to sum(index * to_strides), in
// elements of 1, 2, 4 or 8 bytes. On several threads where that is much. The places that are
// written are distinct.
void copy_strided(const std::byte* from, std::span<const int64_t> from_strides, std::byte* to,
                  std::span<const int64_t> to_strides, std::span<const int64_t> shape, int element);

}  // namespace tcc
