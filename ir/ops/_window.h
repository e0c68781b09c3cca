// Convolutions and pooling share sliding windows over spatial dims.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// Returns an `ints` attribute with one entry for each of `rank` spatial dims; a single entry stands
// for all of them, and an empty list for `fallback` where one is given. The first form is for shape
// rules: it fails on another count, on symbols and on entries outside [lowest, 2^31).
std::vector<int64_t> spatial_ints(const InferContext& context, std::string_view key, int rank,
                                  int64_t lowest, const std::vector<int64_t>& fallback = {});
std::vector<int64_t> spatial_ints(const Node& node, std::string_view key, int rank,
                                  const std::vector<int64_t>& fallback = {});

// The padding before and after each spatial dim. The attribute has one entry for all dims, one for
// each dim or, as ONNX's `pads`, two for each: all beginnings, then all ends. Two entries per dim
// may not be less than `lowest`; other entries may not be negative.
struct Padding {
  std::vector<int64_t> lo, hi;
};
Padding spatial_padding(const InferContext& context, std::string_view key, int rank,
                        int64_t lowest = 0);
Padding spatial_padding(const Node& node, std::string_view key, int rank);

// Returns the last `rank` dims of `shape`.
std::vector<SymInt> spatial_dims(const Shape& shape, int rank);
// Fails unless operand `k` has one of the ranks spatial + 1 and spatial + 2 and no empty spatial
// dim.
void require_image(const InferContext& context, size_t k, int spatial);

// One dim of a window operation: output position o, kernel element k lies at o * stride - padding +
// k * dilation.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padding_lo = 0, padding_hi = 0;  // negative ones crop

  // The span of input positions that one window covers.
  int64_t span() const { return dilation * (kernel - 1) + 1; }
  // Returns how many windows fit into `extent` positions and the padding.
  SymInt positions(const SymInt& extent) const;
  SymInt position(const SymInt& o, const SymInt& k) const {
    return o * stride - padding_lo + k * dilation;
  }
};

// Fails when a window does not fit once, or the sizes are beyond 2^60.
void require_fit(const InferContext& context, const Window& window, const SymInt& extent);

// A position clamped into [0, extent), and whether it was inside: null for always.
struct Tap {
  SymInt index;
  Expr valid;
};
Tap tap(const SymInt& position, const SymInt& extent);

}  // namespace tcc::ir::ops
