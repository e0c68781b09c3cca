// The arithmetic of attention_sm80: what a config needs and how it divides the work. The template
// and the device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/attention_operand.h"

namespace tcc::kernels {

// Parameters of the kernel. A workgroup has block_q rows, and walks over tiles of block_k keys. Of
// its warps, warps_q share the rows, and warps_k the keys of a tile. Rows are the queries of `pack`
// batches one after the other, which share keys and values; with more than one, all queries of a
// batch are in one tile.
struct AttentionSm80 {
  Int batches = 1, queries = 1, keys = 1;  // a batch is what has scores of its own: a head, too
  Int depth = 64, depth_v = 64;            // of queries and keys; of values
  Element element = Element::bf16;
  AttentionOperand q, k, v;
  Int scale_bits = 0;     // of an f32: log2(e) times the factor of the scores
  bool plain = true;      // scores are only scaled and masked: there is no score_inside hook
  bool safe = false;      // queries that see no key give 0, not NaN
  bool sums = false;      // the log-sum-exp is stored
  Int weights = 0;        // neighbouring keys of the weight hook: 2 or 4; 0: there is none
  Int score_rounds = 1;   // rounds of a loop over a tile's scores; 1: it is unrolled
  Int weight_rounds = 1;  // and over its weights
  bool by_query = false;  // the hook of key ranges is asked for single queries,
  bool bounded = false;   // which see all keys of theirs: there is no score hook
  // At any size all queries of a pack are in one tile, or all keys, each of which a query sees.
  bool one_query_tile = false, one_key_tile = false;
  bool lists = false;  // a list says which tiles are skipped
  Int block_q = 128, block_k = 64;
  Int warps_q = 4, warps_k = 1;
  Int stages = 2;       // tiles of keys, and of values, in shared memory
  Int parts = 1;        // workgroups that share the keys of a query and store their parts,
  Int cluster = 1;      // or that combine their parts as a cluster
  Int sent_rows = 16;   // whose parts they send: those of a tile that exist at any size
  Int pack = 1;         // batches whose queries are the rows of one tile
  bool orders = false;  // tiles of queries differ in their numbers of keys: the last come first
  Int heads = 1;        // packs of batches that are walked together

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("batches", batches);
    visit("queries", queries);
    visit("keys", keys);
    visit("depth", depth);
    visit("depth_v", depth_v);
    visit("element", element);
    visit("q", q);
    visit("k", k);
    visit("v", v);
    visit("scale_bits", scale_bits);
    visit("plain", plain);
    visit("safe", safe);
    visit("sums", sums);
    visit("weights", weights);
    visit("score_rounds", score_rounds);
    visit("weight_rounds", weight_rounds);
    visit("by_query", by_query);
    visit("bounded", bounded);
    visit("one_query_tile", one_query_tile);
    visit("one_key_tile", one_key_tile);
    visit("lists", lists);
    visit("block_q", block_q);
    visit("block_k", block_k);
    visit("warps_q", warps_q);
    visit("warps_k", warps_k);
    visit("stages", stages);
    visit("parts", parts);
    visit("cluster", cluster);
    visit("sent_rows", sent_rows);
    visit("pack", pack);
    visit("orders", orders);
    visit("heads", heads);
  }
};

namespace attention_sm80 {

constexpr Int threads(const AttentionSm80& a) { return 32 * a.warps_q * a.warps_k; }
// Rows and keys of a warp.
constexpr Int warp_q(const AttentionSm80& a) { return a.block_q / a.warps_q; }
constexpr Int warp_k(const AttentionSm80& a) { return a.block_k / a.warps_k; }
// Bytes of an element in memory, and in the tiles: 2, or 4 of f32 that is read as tf32.
constexpr Int bytes(const AttentionSm80& a) { return bytes_of(a.element); }
// Neighbours of a row that fragments of values take at once: ldmatrix transposes two fragments of
// 16 bits; of words, a thread reads 16 bytes of each row.
constexpr Int values_at_once(const AttentionSm80& a) { return bytes(a) == 2 ? 16 : 32; }
// Depths as the tiles have them.
constexpr Int columns(const AttentionSm80& a) { return round_up(a.depth, 16); }
constexpr Int columns_v(const AttentionSm80& a) { return round_up(a.depth_v, values_at_once(a)); }

constexpr Int query_tiles(const AttentionSm80& a) {
  return ceil_div(a.queries * a.pack, a.block_q);
}
constexpr Int packs(const AttentionSm80& a) { return a.batches / a.pack; }
// Workgroups that share the keys of a tile of queries.
constexpr Int sharers(const AttentionSm80& a) { return a.parts * a.cluster; }
constexpr Int workgroups(const AttentionSm80& a) { return packs(a) * query_tiles(a) * sharers(a); }

// ---- shared memory: the tiles, or in their place what warps that share keys exchange; behind both
// what the workgroups of a cluster send each other

constexpr Int q_bytes(const AttentionSm80& a) { return a.block_q * columns(a) * bytes(a); }
constexpr Int k_bytes(const AttentionSm80& a) { return a.block_k * columns(a) * bytes(a); }
constexpr Int v_bytes(const AttentionSm80& a) { return a.block_k * columns_v(a) * bytes(a); }
constexpr Int tiles_bytes(const AttentionSm80& a) {
  return q_bytes(a) + a.stages * (k_bytes(a) + v_bytes(a));
}
// Elements of a row of results that warps exchange, padded against bank conflicts.
constexpr Int exchanged_line(const AttentionSm80& a) { return columns_v(a) + 8; }
constexpr Int exchanged_bytes(const AttentionSm80& a) {
  return a.warps_k * a.cluster == 1 ? 0 : a.warps_k * a.block_q * (exchanged_line(a) + 2) * 4;
}
// Eights of results of a tile that workgroup `rank` of the cluster finishes.
constexpr Int finished_by(const AttentionSm80& a, Int rank) {
  return ceil_div(a.sent_rows * columns_v(a) / 8 - rank, a.cluster);
}
// Bytes that arrive at workgroup `rank`: from each workgroup the eights, and maximum and sum of
// each row.
constexpr Int sent_bytes(const AttentionSm80& a, Int rank) {
  return a.cluster * (finished_by(a, rank) * 32 + a.sent_rows * 8);
}
// The inbox has room for the first workgroup's, which are the most. A barrier is behind it.
constexpr Int inbox_begin(const AttentionSm80& a) {
  return most(tiles_bytes(a), exchanged_bytes(a));
}
constexpr Int inbox_bytes(const AttentionSm80& a) { return sent_bytes(a, 0); }
constexpr Int shared_bytes(const AttentionSm80& a) {
  return inbox_begin(a) + (a.cluster == 1 ? 0 : inbox_bytes(a) + 16);
}

// ---- registers

// Accumulators of the scores and of the result.
constexpr Int accumulators(const AttentionSm80& a) {
  return warp_q(a) * (warp_k(a) + columns_v(a)) / 32;
}
// Fragments of all depths of the queries.
constexpr Int query_fragments(const AttentionSm80& a) {
  return warp_q(a) * columns(a) * bytes(a) / 128;
}
// A thread has fragments of keys or values, what its rows keep, and addresses beside accumulators.
constexpr Int kOtherRegisters = 48, kMostRegisters = 256;
// A weight hook needs these, as the numbers of a dropout's generator.
constexpr Int weight_registers(const AttentionSm80& a) { return a.weights > 0 ? 16 : 0; }
// Queries stay in registers where there is room.
constexpr bool keeps_queries(const AttentionSm80& a) {
  return accumulators(a) + query_fragments(a) + kOtherRegisters + weight_registers(a) <= 224;
}
constexpr Int registers(const AttentionSm80& a) {
  return accumulators(a) + (keeps_queries(a) ? query_fragments(a) : warp_q(a) / 2) +
         kOtherRegisters + weight_registers(a);
}

// ---- what is legal

// Warps share keys where there are rows for one warp alone.
constexpr bool legal_warps(const AttentionSm80& a) {
  return a.block_q % (16 * a.warps_q) == 0 && a.block_k % (16 * a.warps_k) == 0 &&
         warp_q(a) <= 32 && threads(a) >= 128 && threads(a) <= 256 &&
         (a.warps_q == 1 || a.warps_k == 1);
}
// With as many, ptxas 13.0 leaves some words in local memory that are used once a tile or less.
constexpr bool fits_registers(const AttentionSm80& a) { return registers(a) <= kMostRegisters; }

}  // namespace attention_sm80
}  // namespace tcc::kernels
