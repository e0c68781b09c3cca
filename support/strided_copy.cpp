#include "support/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/error.h"
#include "support/parallel.h"

namespace tcc {
namespace {

constexpr int64_t kTile = 32;         // elements of a side: a tile's lines stay in the cache
constexpr int64_t kGrain = 64 << 10;  // elements of a piece

struct Dim {
  int64_t size, from, to;
};

// Two dims: along one of them reads are neighbours, or as near as they come, along the other one
// writes.
template <class T>
void copy_plane(const T* from, T* to, const Dim& a, const Dim& b) {
  for (int64_t i = 0; i < a.size; i += kTile)
    for (int64_t j = 0; j < b.size; j += kTile)
      for (int64_t y = i; y < std::min(i + kTile, a.size); ++y)
        for (int64_t x = j; x < std::min(j + kTile, b.size); ++x)
          to[y * a.to + x * b.to] = from[y * a.from + x * b.from];
}

template <class T>
void copy_typed(const std::byte* from_bytes, std::byte* to_bytes, std::vector<Dim> dims) {
  const T* const from = reinterpret_cast<const T*>(from_bytes);
  T* const to = reinterpret_cast<T*>(to_bytes);
  while (dims.size() < 2) dims.insert(dims.begin(), {1, 0, 0});
  // The dim of the nearest writes is the last one, that of the nearest reads, if another, before.
  const auto bring_last = [&](size_t end, int64_t Dim::*stride) {
    const auto best =
        std::min_element(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(end),
                         [&](const Dim& x, const Dim& y) { return x.*stride < y.*stride; });
    std::rotate(best, best + 1, dims.begin() + static_cast<ptrdiff_t>(end));
  };
  bring_last(dims.size(), &Dim::to);
  bring_last(dims.size() - 1, &Dim::from);
  const Dim b = dims.back(), a = dims[dims.size() - 2];
  dims.resize(dims.size() - 2);
  int64_t planes = 1;
  for (const Dim& dim : dims) planes *= dim.size;
  const int64_t strips = (a.size + kTile - 1) / kTile;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, kTile * b.size));
  parallel_for(0, planes * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i / strips, read = 0, write = 0;
      for (size_t d = dims.size(); d-- > 0;) {
        read += rest % dims[d].size * dims[d].from;
        write += rest % dims[d].size * dims[d].to;
        rest /= dims[d].size;
      }
      const int64_t first = i % strips * kTile;
      const Dim strip = {std::min(kTile, a.size - first), a.from, a.to};
      copy_plane(from + read + first * a.from, to + write + first * a.to, strip, b);
    }
  });
}

}  // namespace

void copy_strided(const std::byte* from, std::span<const int64_t> from_strides, std::byte* to,
                  std::span<const int64_t> to_strides, std::span<const int64_t> shape,
                  int element) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return;
    if (shape[d] > 1) dims.push_back({shape[d], from_strides[d], to_strides[d]});
  }
  // Neighbours that are so in both orders are one dim.
  std::ranges::sort(dims, [](const Dim& x, const Dim& y) { return x.to > y.to; });
  for (size_t d = dims.size(); d-- > 1;) {
    const Dim inner = dims[d];
    Dim& outer = dims[d - 1];
    if (outer.from != inner.from * inner.size || outer.to != inner.to * inner.size) continue;
    outer = {outer.size * inner.size, inner.from, inner.to};
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(d));
  }
  if (dims.empty() || (dims.size() == 1 && dims[0].from == 1 && dims[0].to == 1)) {
    std::memcpy(to, from, static_cast<size_t>((dims.empty() ? 1 : dims[0].size) * element));
    return;
  }
  switch (element) {
    case 1: return copy_typed<uint8_t>(from, to, dims);
    case 2: return copy_typed<uint16_t>(from, to, dims);
    case 4: return copy_typed<uint32_t>(from, to, dims);
    case 8: return copy_typed<uint64_t>(from, to, dims);
    default: TCC_CHECK(false, "elements of ", element, " bytes");
  }
}

}  // namespace tcc
