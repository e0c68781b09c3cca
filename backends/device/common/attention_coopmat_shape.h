// The arithmetic of attention_coopmat: what a config needs and how it divides the work. The
// template includes this file; the device source, which is GLSL, gets the members of both structs.
#pragma once

#include "backends/device/common/attention_operand.h"
#include "backends/device/common/coopmat_rows.h"

namespace tcc::kernels {

// Parameters of the kernel. A workgroup has block_q rows, and walks over tiles of block_k keys. Of
// its subgroups, subgroups_q share the rows, and subgroups_k the keys of a tile. They multiply
// matrices of unit_m x unit_n x unit_k. Rows are the queries of `pack` batches one after the
// other, which share keys and values; with more than one, all queries of a batch are in one tile.
struct AttentionCoopmat {
  Int batches = 1, queries = 1, keys = 1;  // a batch is what has scores of its own: a head, too
  Int depth = 64, depth_v = 64;            // of queries and keys; of values
  Element element = Element::bf16;
  AttentionOperand q, k, v;  // `tiles` in whole chunks of 16 bytes, else computed
  Int scale_bits = 0;        // of an f32: log2(e) times the factor of the scores
  bool plain = true;         // scores are only scaled and masked: there is no score_inside hook
  bool safe = false;         // queries that see no key give 0, not NaN
  bool sums = false;         // the log-sum-exp is stored
  Int weights = 0;           // neighbouring keys of the weight hook, 2 or 4; 0: there is none
  Int small_bits = 0;  // of an f32: products up to it are small for score hooks; 0: they do not ask
  Int held = 0;        // words that the score hook of a pair gets, loaded before,
  Int held_inside = 0;    // and those of score_inside
  bool by_query = false;  // the key_range hook is asked for each query of a tile
  bool bounded = false;   // rows see all keys between their bounds, which is nothing to this kernel
  Int block_q = 128, block_k = 64;
  Int subgroups_q = 4, subgroups_k = 1;
  Int subgroup = 32;  // threads
  Int unit_m = 16, unit_n = 16, unit_k = 16;
  bool keeps = true;      // queries stay in registers, not in shared memory
  Int stages = 1;         // slots of tiles of keys and values in shared memory: 2 take one barrier
  bool converts = false;  // weights become operands in registers, not through shared memory
  Int score_keys = 1;     // neighbouring keys of the score hook; 1: scores stay in registers
  bool pairs = false;  // a thread has pairs of neighbouring keys at places that are known: of these
                       // are the hooks of scores, and of weights that become operands in registers
  bool ahead = false;  // held words are loaded before the products
  Int staged = 1;      // units of columns of results that pass through shared memory at once
  Int parts = 1;       // workgroups that share the keys of a query
  Int pack = 1;        // batches whose queries are the rows of one tile
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
    visit("small_bits", small_bits);
    visit("held", held);
    visit("held_inside", held_inside);
    visit("by_query", by_query);
    visit("bounded", bounded);
    visit("block_q", block_q);
    visit("block_k", block_k);
    visit("subgroups_q", subgroups_q);
    visit("subgroups_k", subgroups_k);
    visit("subgroup", subgroup);
    visit("unit_m", unit_m);
    visit("unit_n", unit_n);
    visit("unit_k", unit_k);
    visit("keeps", keeps);
    visit("stages", stages);
    visit("converts", converts);
    visit("score_keys", score_keys);
    visit("pairs", pairs);
    visit("ahead", ahead);
    visit("staged", staged);
    visit("parts", parts);
    visit("pack", pack);
    visit("orders", orders);
    visit("heads", heads);
  }
};

// Sizes that follow from a config. Pitches and places in shared memory are in words of 16 bytes.
struct AttentionCoopmatSizes {
  Int rows = 0, keys = 0;          // of a subgroup
  Int columns = 0, columns_v = 0;  // depths as the tiles have them
  Int packs = 0, query_tiles = 0;
  // Distances of rows: queries and keys, values, weights; scores, a unit's sums, and results on
  // their way to the epilogue.
  Int pitch_k = 0, pitch_v = 0, pitch_p = 0, pitch_s = 0, pitch_unit = 0, pitch_o = 0;
  // A slot has a tile of keys, then one of values. After the slots come the subgroups' areas, and
  // queries; those that stay in registers pass through the place of the tiles.
  Int v_at = 0, slot = 0, areas_at = 0, area = 0, q_at = 0, words = 0;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("rows", rows);
    visit("keys", keys);
    visit("columns", columns);
    visit("columns_v", columns_v);
    visit("packs", packs);
    visit("query_tiles", query_tiles);
    visit("pitch_k", pitch_k);
    visit("pitch_v", pitch_v);
    visit("pitch_p", pitch_p);
    visit("pitch_s", pitch_s);
    visit("pitch_unit", pitch_unit);
    visit("pitch_o", pitch_o);
    visit("v_at", v_at);
    visit("slot", slot);
    visit("areas_at", areas_at);
    visit("area", area);
    visit("q_at", q_at);
    visit("words", words);
  }
};

namespace attention_coopmat {

constexpr Int subgroups(const AttentionCoopmat& a) { return a.subgroups_q * a.subgroups_k; }
constexpr Int threads(const AttentionCoopmat& a) { return a.subgroup * subgroups(a); }
// Rows and keys of a subgroup, in elements and in units.
constexpr Int rows(const AttentionCoopmat& a) { return a.block_q / a.subgroups_q; }
constexpr Int keys(const AttentionCoopmat& a) { return a.block_k / a.subgroups_k; }
// Depths as the tiles have them.
constexpr Int columns(const AttentionCoopmat& a) { return round_up(a.depth, a.unit_k); }
constexpr Int columns_v(const AttentionCoopmat& a) { return round_up(a.depth_v, a.unit_n); }

constexpr Int query_tiles(const AttentionCoopmat& a) {
  return ceil_div(a.queries * a.pack, a.block_q);
}
constexpr Int packs(const AttentionCoopmat& a) { return a.batches / a.pack; }
constexpr Int workgroups(const AttentionCoopmat& a) { return packs(a) * query_tiles(a) * a.parts; }

// Whether scores pass through shared memory to their hooks.
constexpr bool scores_pass(const AttentionCoopmat& a) { return a.score_keys > 1 && !a.pairs; }
// Pairs of scores of a thread, and the words that all of them hold.
constexpr Int pairs(const AttentionCoopmat& a) { return rows(a) * keys(a) / (2 * a.subgroup); }
constexpr Int held_words(const AttentionCoopmat& a) {
  return a.pairs ? pairs(a) * most(a.held, a.held_inside) : 0;
}

// ---- shared memory, in words of 16 bytes

constexpr Int pitch(Int elements) { return chunks_of_elements(elements, 2); }
constexpr Int pitch_unit(const AttentionCoopmat& a) { return a.unit_n * 4 / kChunkBytes; }
// A subgroup has an area for a matrix of sums, and where they pass through memory for lines of
// scores and for its weights, which come as lines of f32.
constexpr Int area_words(const AttentionCoopmat& a) {
  const Int lines = a.unit_m * chunks_of_sums(keys(a)), weights = a.unit_m * pitch(keys(a));
  const Int sums = a.unit_m * pitch_unit(a);
  if (a.converts) return scores_pass(a) ? most(lines, sums) : sums;
  return (rows(a) - a.unit_m) * pitch(keys(a)) + most(most(weights, lines), sums);
}
constexpr Int query_words(const AttentionCoopmat& a) { return a.block_q * pitch(columns(a)); }
constexpr Int v_at(const AttentionCoopmat& a) { return a.block_k * pitch(columns(a)); }
constexpr Int slot_words(const AttentionCoopmat& a) {
  return v_at(a) + a.block_k * pitch(columns_v(a));
}
constexpr Int areas_at(const AttentionCoopmat& a) { return a.stages * slot_words(a); }
constexpr Int areas_end(const AttentionCoopmat& a) {
  return areas_at(a) + subgroups(a) * area_words(a);
}
// Tiles of keys and of values, the areas, and queries that do not stay in registers.
constexpr Int loop_words(const AttentionCoopmat& a) {
  return areas_end(a) + (a.keeps ? 0 : query_words(a));
}
constexpr Int staged_pitch(const AttentionCoopmat& a, Int staged) {
  return chunks_of_sums(staged * a.unit_n);
}
constexpr Int staged_words(const AttentionCoopmat& a, Int staged) {
  return subgroups(a) * a.unit_m * staged_pitch(a, staged);
}
// As many units of columns as have room in the place of the tiles.
constexpr Int staged_units(const AttentionCoopmat& a) {
  const Int all = columns_v(a) / a.unit_n;
  Int units = all;
  while (units > 1 && (all % units != 0 || staged_words(a, units) > loop_words(a))) --units;
  return units;
}
constexpr Int tile_words(const AttentionCoopmat& a) {
  return most(most(loop_words(a), query_words(a)), staged_words(a, a.staged));
}
constexpr AttentionCoopmatSizes sizes(const AttentionCoopmat& a) {
  AttentionCoopmatSizes s;
  s.rows = rows(a);
  s.keys = keys(a);
  s.columns = columns(a);
  s.columns_v = columns_v(a);
  s.packs = packs(a);
  s.query_tiles = query_tiles(a);
  s.pitch_k = pitch(s.columns);
  s.pitch_v = pitch(s.columns_v);
  s.pitch_p = pitch(s.keys);
  s.pitch_s = chunks_of_sums(s.keys);
  s.pitch_unit = pitch_unit(a);
  s.pitch_o = staged_pitch(a, a.staged);
  s.v_at = v_at(a);
  s.slot = slot_words(a);
  s.areas_at = areas_at(a);
  s.area = area_words(a);
  s.q_at = a.keeps ? 0 : areas_end(a);
  s.words = tile_words(a);
  return s;
}
// The places of keys, or values, of two tiles, where they lie apart.
constexpr Int place_bytes(const AttentionCoopmat& a, const AttentionOperand& x) {
  return x.load == Load::tiles && x.apart ? 8 * a.block_k : 0;
}
// The tiles, two numbers for each row, bounds of the keys that rows see, and places.
constexpr Int shared_bytes(const AttentionCoopmat& a) {
  return 16 * tile_words(a) + 8 * a.block_q * a.subgroups_k + (a.by_query ? 16 : 0) +
         place_bytes(a, a.k) + place_bytes(a, a.v);
}

// ---- registers

// 32-bit registers of a thread: accumulators of scores, results, sums and references, the places of
// a matrix's elements, queries, matrices of a step, a tile on its way, and addresses.
constexpr Int registers(const AttentionCoopmat& a) {
  const Int sums = rows(a) * (keys(a) + columns_v(a) + 2 * a.unit_n) + a.unit_m * a.unit_n;
  const Int halves = (a.keeps ? rows(a) * columns(a) : rows(a) * a.unit_k) + rows(a) * a.unit_k +
                     a.unit_k * a.unit_n;
  const Int k_coming = ceil_div(a.block_k * columns(a) / 8, threads(a)) * 4;
  const Int v_coming = ceil_div(a.block_k * columns_v(a) / 8, threads(a)) * 4;
  const Int coming = a.stages == 1 ? most(k_coming, v_coming) : k_coming + v_coming;
  return (sums + halves / 2) / a.subgroup + coming + (a.ahead ? held_words(a) : 0) + 48;
}
// Those for matrices of values, whose lines in shared memory are not along keys, where units do not
// turn them on their way: each element is a load of its own, and some matrices come at once.
constexpr Int turned_registers(const AttentionCoopmat& a) {
  return least(4, columns_v(a) / a.unit_n) * a.unit_k;
}

// ---- what is legal

constexpr bool legal_subgroups(const AttentionCoopmat& a) {
  return a.block_q % (a.unit_m * a.subgroups_q) == 0 &&
         a.block_k % (a.unit_n * a.subgroups_k) == 0 &&
         a.block_k % (a.unit_k * a.subgroups_k) == 0 && (a.subgroups_q == 1 || a.subgroups_k == 1);
}
// Rows of matrices begin at words, and their elements have places in 8 bits each.
constexpr bool legal_units(const AttentionCoopmat& a) {
  return a.unit_k % 8 == 0 && a.unit_n % 8 == 0 && a.unit_m <= 256 && a.unit_n <= 256;
}
// The products of a subgroup in a turn of its loop, all of which are unrolled: compilers take their
// time.
constexpr Int products(const AttentionCoopmat& a) {
  const Int tall = rows(a) / a.unit_m;
  return a.stages * tall *
         (keys(a) / a.unit_n * (columns(a) / a.unit_k) +
          columns_v(a) / a.unit_n * (keys(a) / a.unit_k));
}
// Loop iterations of a thread that walks over so many tiles of keys.
constexpr Int iterations(const AttentionCoopmat& a, Int tiles) {
  const Int tall = rows(a) / a.unit_m;
  return a.pack + ceil_div(a.unit_m * a.unit_n, 4 * threads(a)) + 2 * a.block_q +
         (tiles + 1) * (2 + tall * (ceil_div(a.unit_m * keys(a), 4 * a.subgroup) +
                                    ceil_div(a.unit_m, a.subgroup) + 2)) +
         tall * (columns_v(a) / a.unit_n) *
             (ceil_div(a.subgroups_q * a.unit_m * a.staged * a.unit_n, 8 * threads(a)) + 4) +
         ceil_div(query_words(a), threads(a));
}

}  // namespace attention_coopmat
}  // namespace tcc::kernels
