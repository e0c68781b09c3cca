// The arithmetic of gemv: what a config needs and how it divides a product. The template and the
// device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

// Reductions of the rows of A that its elements are made with, as those of a norm: `results` of
// each row, found in `stages`, a stage from the results of those before it. A row is read in
// `parts`.
struct RowResults {
  Int results = 0, stages = 0, parts = 0;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("results", results);
    visit("stages", stages);
    visit("parts", parts);
  }
};

// Parameters of the kernel: a product of few rows. A lane computes `columns` neighbouring columns
// of a workgroup's rows over its share of k.
struct Gemv {
  Product product;
  RowResults rows;
  bool staged = false;   // A is computed once for a workgroup, which keeps its share of k
  bool fixed_b = false;  // no kernel writes B
  Int block_m = 1;       // rows of a workgroup
  Int columns = 1;
  Int lanes_n = 1;               // lanes of a warp along n; the others are along k
  Int warps_n = 1, warps_k = 1;  // warps of a workgroup
  Int k_unit = 1;                // neighbouring k that a lane takes at once
  Int unroll = 1;                // such units in flight
  Int cluster = 1;               // workgroups that share k
  Int subgroup = 32;             // threads that exchange sums by shuffles

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("product", product);
    visit("rows", rows);
    visit("staged", staged);
    visit("fixed_b", fixed_b);
    visit("block_m", block_m);
    visit("columns", columns);
    visit("lanes_n", lanes_n);
    visit("warps_n", warps_n);
    visit("warps_k", warps_k);
    visit("k_unit", k_unit);
    visit("unroll", unroll);
    visit("cluster", cluster);
    visit("subgroup", subgroup);
  }
};

namespace gemv {

constexpr Int kMostRows = 8;  // of a workgroup

constexpr Int threads(const Gemv& g) { return 32 * g.warps_n * g.warps_k; }
constexpr Int lanes_k(const Gemv& g) { return 32 / g.lanes_n; }
constexpr Int block_columns(const Gemv& g) { return g.warps_n * g.lanes_n * g.columns; }
constexpr Int blocks_m(const Gemv& g) { return ceil_div(g.product.m, g.block_m); }
constexpr Int blocks_n(const Gemv& g) { return ceil_div(g.product.n, block_columns(g)); }
// Vectors of B of one unit.
constexpr Int loads(const Gemv& g) { return g.product.b.major_k ? g.columns : g.k_unit; }
// The lanes of a cluster along k take a unit each at once, and block_k with all units in flight.
constexpr Int units_k(const Gemv& g) { return lanes_k(g) * g.warps_k * g.cluster; }
constexpr Int block_k(const Gemv& g) { return g.k_unit * units_k(g) * g.unroll; }
// Steps of a lane along k, a unit each; whole iterations of those that are in flight.
constexpr Int steps(const Gemv& g) {
  return round_up(ceil_div(ceil_div(g.product.k, g.k_unit), units_k(g)), g.unroll);
}
// The k that a workgroup takes, padding included.
constexpr Int own_k(const Gemv& g) { return steps(g) * lanes_k(g) * g.warps_k * g.k_unit; }
// Registers of a thread for sums and for loaded elements.
constexpr Int registers(const Gemv& g) {
  return g.block_m * g.columns + g.unroll * loads(g) * g.product.b.vector;
}
// The parts of a warp along k whose sums are added up in shared memory: lanes further apart than a
// subgroup is wide exchange none.
constexpr Int parts_k(const Gemv& g) {
  const Int stride = g.product.b.major_k ? 1 : g.lanes_n;
  return lanes_k(g) / least(lanes_k(g), most(1, least(g.subgroup, 32) / stride));
}
// Sums that the warps along k add up, in f32, and those that the workgroups of a cluster send.
constexpr Int sums_bytes(const Gemv& g) {
  const Int sums = g.block_m * block_columns(g) * 4;
  return g.warps_k * parts_k(g) * sums + (g.cluster > 1 ? g.cluster * sums : 0);
}
// The results of rows of each subgroup, or half of one, of two stages in turn.
constexpr Int row_results_bytes(const Gemv& g) {
  return 2 * threads(g) / least(g.subgroup, 32) * g.block_m * g.rows.results * 4;
}
constexpr Int staged_bytes(const Gemv& g) { return g.staged ? g.block_m * own_k(g) * 4 : 0; }
constexpr Int shared_bytes(const Gemv& g) {
  return sums_bytes(g) + row_results_bytes(g) + staged_bytes(g);
}

// A unit is a vector along the axis that is contiguous in memory.
constexpr bool legal_units(const Gemv& g) {
  return (g.product.b.major_k ? g.k_unit : g.columns) == g.product.b.vector;
}

}  // namespace gemv
}  // namespace tcc::kernels
