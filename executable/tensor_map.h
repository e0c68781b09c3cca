// A view of a buffer for the copy engine of CUDA devices from sm_90 on (TMA): the host encodes it
// when the kernel is bound to addresses, and it is passed after the buffers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/symint.h"

namespace tcc::exec {

// A load of kind im2col brings, for `pixels` neighbouring pixels of an image, `channels`
// neighbours of the innermost dim. The dims are channels, then the spatial ones (width innermost),
// then images. A pixel is the corner of a filter's window, and is moved to one of the filter's taps
// by offsets that the load names; it takes the places of a box, which begins at `lower` and ends
// `upper` after the last element of each spatial dim, `steps` apart, one row after the other and
// one image after the other. Outside of the dims zeros are read.
//
// A convolution of padding p, stride s and dilation d with a filter of r taps has lower = -p,
// upper = p - d (r - 1) and steps = s.
struct Im2col {
  std::vector<int> lower, upper;  // by spatial dim, innermost first
  int channels = 0, pixels = 0;   // at most 256 and 1024
  friend bool operator==(const Im2col&, const Im2col&) = default;
};

struct TensorMap {
  enum class Kind : uint8_t { tiled, im2col };
  std::string name;  // of the kernel's parameter
  int argument = 0;  // whose buffer is viewed
  DType dtype = DType::bf16;
  ir::SymInt offset = 0;            // elements from the buffer's start; a multiple of 16 bytes
  std::vector<ir::SymInt> dims;     // elements, innermost first; 1 to 5. Beyond them zeros are read
  std::vector<ir::SymInt> strides;  // bytes, of all dims but the innermost; multiples of 16
  std::vector<int> box;  // tiled: elements of one load, in the order of dims; each at most 256
  int swizzle = 128;     // bytes of a row of the tile in shared memory: 0, 32, 64 or 128
  Kind kind = Kind::tiled;
  Im2col im2col = {};           // of that kind; 3 to 5 dims
  std::vector<int> steps = {};  // elements from one that is loaded to the next, by dim; empty: 1
  // Tiled: a side of the box is no longer than its dim, rounded up to so many elements; 0: it is
  // as `box` says. Empty: all are. box_side() tells.
  std::vector<int> clip = {};
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

// A map at some sizes, as the driver encodes it. It has no memory of its own: programs of open
// sizes make some for each launch of each new size.
struct MapNumbers {
  static constexpr size_t kMostDims = 5;
  int argument = 0;
  DType dtype = DType::bf16;
  TensorMap::Kind kind = TensorMap::Kind::tiled;
  int swizzle = 128;
  uint32_t rank = 0;
  int64_t offset = 0;                         // elements
  std::array<uint64_t, kMostDims> dims{};     // elements
  std::array<uint64_t, kMostDims> strides{};  // bytes, from the second dim on
  std::array<uint32_t, kMostDims> steps{};
  std::array<uint32_t, kMostDims> box{};            // tiled
  std::array<int, kMostDims - 2> lower{}, upper{};  // im2col
  int channels = 0, pixels = 0;
  // Where sizes make a dim 0, nothing is read through the map.
  bool is_empty() const { return std::count(dims.begin(), dims.begin() + rank, 0) > 0; }
  friend bool operator==(const MapNumbers&, const MapNumbers&) = default;
};

// The side of a load's box in dim `i`, which has so many elements.
inline int64_t box_side(const TensorMap& map, size_t i, int64_t elements) {
  const int64_t side = map.box[i], unit = map.clip.empty() ? 0 : map.clip[i];
  if (unit == 0 || elements >= side) return side;
  return std::min(side, (elements + unit - 1) / unit * unit);
}

}  // namespace tcc::exec
