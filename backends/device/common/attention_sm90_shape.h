// The arithmetic of attention_sm90: what a config needs and how it divides the work. The template
// and the device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/attention_operand.h"

namespace tcc::kernels {

// Parameters of the kernel. A tile has block_q = 64 * groups queries of one batch; its keys are
// walked block_k at a time.
struct AttentionSm90 {
  Int batches = 1, queries = 1, keys = 1;  // a batch is what has scores of its own: a head, too
  Int depth = 64, depth_v = 64;            // of queries and keys; of values
  Element element = Element::bf16;
  Int rank_q = 2, rank_k = 2, rank_v = 2;  // dimensions of the tensor maps
  Int q_vector = 0;    // threads compute queries, so many neighbours at once; 0: they are copied
  Int scale_bits = 0;  // of an f32: log2(e) times the factor of the scores
  bool plain = true;   // scores are only scaled and masked: there is no score_inside hook
  bool safe = false;   // queries that see no key give 0, not NaN
  bool sums = false;   // the log-sum-exp is stored
  Int small_bits = 0;  // of an f32: products up to it are small for score hooks; 0: they do not ask
  Int held = 0;        // words that a pair's score loads ahead,
  Int held_inside = 0;     // and of score_inside
  Int held_apart = 0;      // those of them that a thread's two rows do not share
  Int held_distances = 0;  // the first of them, which are the same 8 rows and keys further on
  // Each query sees all keys, whose number comes at run time, or scores load nothing.
  bool all_seen = false;
  bool some_held = false;  // masked tiles hold words, and which ones are masked comes then, too
  Int weights = 0;         // neighbouring keys of the weight hook: 2 or 4; 0: there is none
  Int score_rounds = 1;    // rounds of a loop over a tile's scores; 1: it is unrolled
  Int weight_rounds = 1;   // and over its weights
  bool by_query = false;   // the hook of key ranges is asked for single queries,
  bool bounded = false;    // which see all keys of theirs: there is no score hook
  bool lists = false;      // a list says which tiles are skipped
  Int groups = 2;          // warpgroups that multiply
  Int block_k = 128;       // keys of a tile
  Int stages = 2;          // tiles of keys, and of values, in shared memory
  Int query_stages = 1;    // tiles of queries
  bool turns = true;       // groups take turns: one weighs while the others multiply
  bool orders = false;     // tiles of queries differ in their numbers of keys: the last come first
  Int heads = 1;           // batches that are walked together
  Int parts = 1;           // workgroups that share the keys of a query
  Int workgroups = 1;      // of the launch

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("batches", batches);
    visit("queries", queries);
    visit("keys", keys);
    visit("depth", depth);
    visit("depth_v", depth_v);
    visit("element", element);
    visit("rank_q", rank_q);
    visit("rank_k", rank_k);
    visit("rank_v", rank_v);
    visit("q_vector", q_vector);
    visit("scale_bits", scale_bits);
    visit("plain", plain);
    visit("safe", safe);
    visit("sums", sums);
    visit("small_bits", small_bits);
    visit("held", held);
    visit("held_inside", held_inside);
    visit("held_apart", held_apart);
    visit("held_distances", held_distances);
    visit("all_seen", all_seen);
    visit("some_held", some_held);
    visit("weights", weights);
    visit("score_rounds", score_rounds);
    visit("weight_rounds", weight_rounds);
    visit("by_query", by_query);
    visit("bounded", bounded);
    visit("lists", lists);
    visit("groups", groups);
    visit("block_k", block_k);
    visit("stages", stages);
    visit("query_stages", query_stages);
    visit("turns", turns);
    visit("orders", orders);
    visit("heads", heads);
    visit("parts", parts);
    visit("workgroups", workgroups);
  }
};

namespace attention_sm90 {

constexpr Int kPanel = 64;  // elements of 16 bits of a swizzled line
constexpr Int kLineBytes = 128;

constexpr Int threads(const AttentionSm90& a) { return 128 * (1 + a.groups); }
constexpr Int block_q(const AttentionSm90& a) { return 64 * a.groups; }
constexpr Int panels(const AttentionSm90& a) { return ceil_div(a.depth, kPanel); }
constexpr Int panels_v(const AttentionSm90& a) { return ceil_div(a.depth_v, kPanel); }
// Columns of the products with values.
constexpr Int columns_v(const AttentionSm90& a) { return round_up(a.depth_v, 8); }

constexpr Int q_bytes(const AttentionSm90& a) { return panels(a) * block_q(a) * kLineBytes; }
constexpr Int k_bytes(const AttentionSm90& a) { return panels(a) * a.block_k * kLineBytes; }
constexpr Int v_bytes(const AttentionSm90& a) { return panels_v(a) * a.block_k * kLineBytes; }
constexpr Int kBarrierBytes = 16;
constexpr Int shared_bytes(const AttentionSm90& a) {
  return 1024 + a.query_stages * q_bytes(a) + a.stages * (k_bytes(a) + v_bytes(a)) +
         (a.groups * a.query_stages + 2 * a.stages) * kBarrierBytes;
}

constexpr Int query_tiles(const AttentionSm90& a) { return ceil_div(a.queries, block_q(a)); }
constexpr Int tiles(const AttentionSm90& a) { return a.batches * query_tiles(a) * a.parts; }

// With a list, the warp that loads asks for it, too.
constexpr Int consumer_registers(const AttentionSm90& a) {
  return a.groups == 1 ? 248 : a.groups == 3 ? 160 : a.lists ? 232 : 240;
}
constexpr Int producer_registers(const AttentionSm90& a) {
  return a.groups != 2 ? 32 : a.lists ? 40 : 24;
}
// Words that are loaded ahead: those of a thread's two rows.
constexpr Int held_registers(const AttentionSm90& a) {
  return a.block_k / 8 * ((a.held > a.held_inside ? a.held : a.held_inside) + a.held_apart) +
         a.held_distances;
}
// The registers of a thread for the accumulators of scores and of the result, and for the weights
// that are multiplied meanwhile. A weight hook needs some, too, and so do scores that are made in
// two ways, and bounds that the compiler does not know to be those of a whole warp. The rule admits
// what ptxas 13.0 compiles without spills where scores are only scaled.
constexpr Int registers(const AttentionSm90& a) {
  return a.block_k / 2 + a.block_k / 4 + columns_v(a) / 2 + held_registers(a) +
         (a.some_held                                        ? 20
          : a.weights > 0 || a.by_query || a.small_bits != 0 ? 16
                                                             : 0);
}
constexpr bool fits_registers(const AttentionSm90& a) {
  return registers(a) <= (a.groups == 3 ? 128 : 200);
}

}  // namespace attention_sm90
}  // namespace tcc::kernels
