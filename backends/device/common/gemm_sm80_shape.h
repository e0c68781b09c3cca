// The arithmetic of gemm_sm80: what a config needs and how it divides a product. The template and
// the device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

// Parameters of the kernel. A workgroup computes a tile of block_m x block_n, and each of its
// warps_m x warps_n warps a part of it. split_k workgroups may share the k of one tile.
struct GemmSm80 {
  Product product;
  Int block_m = 128, block_n = 128;
  Int line_bytes = 64;  // a tile has so many bytes of k
  Int warps_m = 2, warps_n = 2;
  Int stages = 4;  // tiles of k in shared memory
  Int split_k = 1;
  Int band = 1;  // rows of tiles that are walked together
  // Facts of the target and the kernel that split_k relies on: workgroups that run at once, and the
  // argument that holds the parts' sums; that of their arrivals is the next one.
  Int at_once = 0, sums = 0;
  Int taps = 0;  // of the image that an operand of kind im2col reads

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("product", product);
    visit("block_m", block_m);
    visit("block_n", block_n);
    visit("line_bytes", line_bytes);
    visit("warps_m", warps_m);
    visit("warps_n", warps_n);
    visit("stages", stages);
    visit("split_k", split_k);
    visit("band", band);
    visit("at_once", at_once);
    visit("sums", sums);
    visit("taps", taps);
  }
};

namespace sm80 {

constexpr bool by_threads(const GemmSm80& g) {
  return !is_copied(g.product.a.load) || !is_copied(g.product.b.load);
}
constexpr Int threads(const GemmSm80& g) { return 32 * g.warps_m * g.warps_n; }

// ---- tiles

constexpr Int element_bytes(const GemmSm80& g) { return bytes_of(g.product.a.element); }
constexpr Int block_k(const GemmSm80& g) { return g.line_bytes / element_bytes(g); }
constexpr Int k_tiles(const GemmSm80& g) { return ceil_div(g.product.k, block_k(g)); }
constexpr Int tiles_m(const GemmSm80& g) { return ceil_div(g.product.m, g.block_m); }
constexpr Int tiles_n(const GemmSm80& g) { return ceil_div(g.product.n, g.block_n); }
constexpr Int tiles(const GemmSm80& g) { return g.product.batches * tiles_m(g) * tiles_n(g); }
constexpr Int warp_m(const GemmSm80& g) { return g.block_m / g.warps_m; }
constexpr Int warp_n(const GemmSm80& g) { return g.block_n / g.warps_n; }

// ---- workgroups that share k

// Workgroups for each of so many tiles. Where sizes come at run time and give more tiles, fewer
// workgroups share one, so that the scratch memory does not grow with them.
constexpr Int parts(const GemmSm80& g, Int tiles) {
  return g.split_k == 1 || tiles == 0 ? 1 : most(1, least(g.split_k, g.at_once / tiles));
}
constexpr Int workgroups(const GemmSm80& g, Int tiles) { return tiles * parts(g, tiles); }
// Scratch memory: sums of all parts, and a word for each tile.
constexpr Int slots(const GemmSm80& g) {
  if (g.split_k == 1) return 0;
  return has_open_tiles(g.product) ? g.at_once : workgroups(g, tiles(g));
}
constexpr Int sums(const GemmSm80& g) { return slots(g) * g.block_m * g.block_n; }
constexpr Int arrivals(const GemmSm80& g) {
  if (g.split_k == 1) return 0;
  return has_open_tiles(g.product) ? g.at_once / 2 : tiles(g);
}

// ---- shared memory: the stages, or in their place the sums that pass to the epilogue

constexpr Int stages_bytes(const GemmSm80& g) {
  return g.stages * g.line_bytes * (g.block_m + g.block_n);
}
// A warp stages sixteen lines of sums, which are padded against bank conflicts.
constexpr Int staged_line(const GemmSm80& g) {
  return g.product.swapped ? warp_m(g) + 4 : warp_n(g) + 8;
}
constexpr Int staged_bytes(const GemmSm80& g) {
  return g.warps_m * g.warps_n * 16 * staged_line(g) * 4;
}
constexpr Int shared_bytes(const GemmSm80& g) { return most(stages_bytes(g), staged_bytes(g)); }

// ---- registers

// Registers of all threads for rows of bytes that they bring: computed ones have one for each
// element, and addresses.
constexpr Int bytes_in_flight(const Operand& x, Int rows) {
  return is_copied(x.load) ? 0 : x.load == Load::rows ? rows * 32 : rows * 128;
}
// Registers of all threads for an image: each vector of a tile has a number, and a bit for each
// tap.
constexpr Int image_registers(const GemmSm80& g, const Operand& x, Int rows) {
  return x.load == Load::im2col ? rows * g.line_bytes / (x.vector * bytes_of(x.element)) * 2 : 0;
}
// A thread holds accumulators, the fragments of A of two k steps and of B of one, the tile on its
// way, and addresses.
constexpr Int registers(const GemmSm80& g) {
  const Int bytes =
      bytes_in_flight(g.product.a, g.block_m) + bytes_in_flight(g.product.b, g.block_n);
  const Int elements = by_threads(g) ? (g.block_m + g.block_n) * g.line_bytes / 8 : 0;
  return warp_m(g) * warp_n(g) / 32 + warp_m(g) / 2 + warp_n(g) / 4 +
         ((element_bytes(g) == 1 ? bytes : elements) + image_registers(g, g.product.a, g.block_m) +
          image_registers(g, g.product.b, g.block_n)) /
             threads(g) +
         48;
}

// ---- what is legal

constexpr bool legal_warps(const GemmSm80& g) {
  return g.block_m % (16 * g.warps_m) == 0 && g.block_n % (16 * g.warps_n) == 0 &&
         warp_m(g) <= 64 && warp_n(g) <= 64 && threads(g) >= 64 && threads(g) <= 256 &&
         (!by_threads(g) || warp_m(g) * warp_n(g) <= 64 * 32);
}
// Every part has tiles of k. All workgroups of a launch find a place at once: those that add up a
// tile wait a while for each other, and the last one does what is left (sm80_exchange.cuh).
constexpr bool legal_split(const GemmSm80& g) {
  const Int least_tiles = has_open_tiles(g.product) ? 1 : tiles(g);
  return g.split_k == 1 || (g.split_k <= k_tiles(g) && g.split_k * least_tiles <= g.at_once);
}
// The matrix unit transposes 16-bit elements. tf32 is read word by word, and bytes are turned by
// the threads that load them.
constexpr bool legal_operand(const Operand& x) { return x.major_k || bytes_of(x.element) > 1; }

}  // namespace sm80
}  // namespace tcc::kernels
