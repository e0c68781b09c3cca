// Attention on sm_90a: out[query] = sum over keys of softmax(score(query . key)) * value, per batch, in one pass over the
// keys.
//
// Persistent and warp specialised: one warp fills rings of queries, keys and values by TMA. Each of `groups` warpgroups
// has 64 queries of a tile. It computes a tile's scores (wgmma), keeps the maximum and the sum of each row in registers,
// and multiplies the weights, from registers, with the values. While a tile's weights meet their values, the next tile's
// scores are computed; with turns, one group's softmax runs under another group's products. Keys are walked from the last
// to the first.
//
// The constant `params` is an AttentionSm90 (attention_sm90_shape.h); the macros WGMMA_KEYS and WGMMA_VALUES are its
// block_k and its columns_v. Hooks (attention_hooks.h has their meaning):
//   batch_q, batch_k, batch_v(buffers, batch, c)    where the operand's tensor map has more than 2 dimensions
//   load_q(buffers, batch, row, d, v)               of params.q_vector neighbours along the depth, where not 0: then there
//                                                   is no batch_q
//   score(buffers, batch, query, row, pair, column, v), score_inside    of 2 neighbouring keys, a pair; the former unless
//                                                                       params.bounded, the latter unless params.plain
// With params.small_bits these get, before v, whether all products of a warp are at most as large.
//   hold_score(buffers, batch, query, row, pair, column, held), hold_inside    of a pair, params.held and params.held_inside
//                                                                              words, which score and score_inside then get
//                                                                              before v
//   weight(buffers, batch, query, key, v)           changes weights of params.weights neighbouring keys, where not 0
//   key_range(buffers, batch, tile, range)          with params.by_query, of a query in the place of the tile
//   tile_seen(buffers, batch, query tile, key tile) with params.lists: 0 where no query of the tile sees a key
//   epilogue(buffers, batch, row, part, acc)        of 8 neighbouring columns
//   store_sum(buffers, batch, row, v)               with params.sums
// With params.parts > 1 there are, in the place of the last two, store_part and store_part_sums (attention_parts.h).
//
// TCC_MAPS are the tensor maps of queries, unless those are computed, keys and values: 128-byte swizzle, zeros out of bounds, dimensions (depth, row,
// batch...), boxes of 64 elements of 64 queries, or of block_k keys.
#include "../common/attention_sm90_shape.h"
#include "matrix.cuh"
#include "sm90_computed.cuh"
#include "wgmma_registers.cuh"
#include "attention_rows.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 384
#define GRID 132
constexpr AttentionSm90 example() {
  AttentionSm90 p;
  p.batches = 16;
  p.queries = p.keys = 4096;
  p.depth = p.depth_v = 128;
  p.scale_bits = 0x3e029431;  // log2(e) / sqrt(128)
  p.workgroups = 132;
  return p;
}
constexpr AttentionSm90 params = example();
#define WGMMA_KEYS 128
#define WGMMA_VALUES 128
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP, 1) attention(f32* __restrict__ b0, const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k, const __grid_constant__ TensorMap map_v)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0,
#define TCC_MAPS &map_q, &map_k, &map_v,
TCC_FN void score(f32*, i32, i32, i32, i32, i32, f32 (&)[2]) {}
TCC_FN void key_range(f32*, i32, i32, i32 (&range)[4]) {
  range[0] = range[2] = 0;
  range[1] = range[3] = 4096;
}
TCC_FN void epilogue(f32* b0, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  if (row >= 4096 || part >= 16) return;
  for (i32 i = 0; i < 8; ++i) b0[(batch * 4096 + row) * 128 + part * 8 + i] = acc[i];
}
#endif

constexpr i32 GROUPS = params.groups, BLOCK_Q = attention_sm90::block_q(params), BLOCK_K = params.block_k;
constexpr i32 DEPTH = params.depth, DEPTH_V = params.depth_v;
constexpr i32 PANELS = attention_sm90::panels(params), PANELS_V = attention_sm90::panels_v(params);
constexpr i32 COLUMNS_V = attention_sm90::columns_v(params);
constexpr i32 STEPS = (DEPTH + 15) / 16, PARTS = params.parts;
constexpr bool COMPUTES_QUERIES = params.q_vector > 0;
constexpr i32 HELD = params.held > params.held_inside ? params.held : params.held_inside;
constexpr bool ROWS_SHARE_HELD = params.held_apart == 0 && params.held_distances == 0;
constexpr i32 KEY_MAP = COMPUTES_QUERIES ? 0 : 1;
constexpr Element ELEMENT = params.element;
static_assert(WORKGROUP == attention_sm90::threads(params), "the launch is that of the params");
// With sizes that come at run time, the launch's tiles and workgroups are numbers that the kernel gets, too.
#ifndef OPEN_GRID
#define TILES i32(attention_sm90::tiles(params))
#define WORKGROUPS i32(params.workgroups)
static_assert(GRID == WORKGROUPS, "the launch is that of the params");
#endif
static_assert(attention_sm90::fits_registers(params), "accumulators fit in registers");
static_assert(WGMMA_KEYS == BLOCK_K && WGMMA_VALUES == COLUMNS_V, "the macros are those of the params");

WGMMA_COLUMNS(WGMMA_KEYS)
WGMMA_REGISTERS(WGMMA_VALUES)

// Each group has queries of its own, so that it begins a tile while the others end theirs.
using Queries = Pipeline<params.query_stages, PANELS * 8192>;
using Keys = Pipeline<params.stages, attention_sm90::k_bytes(params)>;
using Values = Pipeline<params.stages, attention_sm90::v_bytes(params)>;
// The parts' shared memory, in this order.
struct AllQueries {
  Queries::Tiles of_group[GROUPS];
};
struct QueryBarriers {
  Queries::Barriers of_group[GROUPS];
};
struct KeyTiles : Keys::Tiles {};
struct ValueTiles : Values::Tiles {};
struct KeyBarriers : Keys::Barriers {};
struct ValueBarriers : Values::Barriers {};
struct SharedStorage : AllQueries, KeyTiles, ValueTiles, QueryBarriers, KeyBarriers, ValueBarriers {};
static_assert(sizeof(SharedStorage) + 1024 == attention_sm90::shared_bytes(params), "the host knows the storage");

// A tile's batch and its first query, and the part of the keys.
struct Place {
  i32 batch, query, part;
};

// S = Q K^T of 64 queries.
TCC_FN void multiply_keys(f32 (&s)[BLOCK_K / 2], u32 q, u32 k) {
  const u32 a = wgmma_tile(q, true), b = wgmma_tile(k, true);
#pragma unroll
  for (i32 step = 0; step < STEPS; ++step)
    WgmmaColumns<BLOCK_K>::template multiply<ELEMENT, ELEMENT, false, false>(
        s, a + (step / 4 * 8192 + step % 4 * 32 >> 4), b + (step / 4 * (BLOCK_K * 128) + step % 4 * 32 >> 4), step != 0);
}
// O += P V.
TCC_FN void multiply_values(f32 (&o)[COLUMNS_V / 2], const u32 (&p)[BLOCK_K / 4], u32 v) {
  const u32 b = (v & 0x3ffff) >> 4 | u32(BLOCK_K * 128 >> 4) << 16;
#pragma unroll
  for (i32 step = 0; step < BLOCK_K / 16; ++step)
    WgmmaRegisters<COLUMNS_V>::template multiply<ELEMENT>(o, p[step * 4], p[step * 4 + 1], p[step * 4 + 2], p[step * 4 + 3],
                                                            b + (step * 2048 >> 4));
}

template <i32 COUNT> TCC_FN void settle_all(f32 (&v)[COUNT]) {
#pragma unroll
  for (i32 i = 0; i < COUNT; ++i) asm volatile("" : "+f"(v[i])::"memory");
}

// The two rows of a thread: what softmax keeps of them.
struct Rows {
  f32 max[2], sum[2];
};
// Log2 of how much a maximum grows before what is relative to it is rescaled: rarely, but for the first tile. Changed
// weights of f16 stay below 1.
constexpr f32 kGrowth = params.weights > 0 && ELEMENT == Element::f16 ? 0.f : 8.f;
// Hooks take about as long as the second product: their scores become weights before the wait for it. A loop that waits for
// the next keys stands there, across which the compiler moves no exponentials. Plain scores are faster without.
constexpr bool kWeighsEarly = !params.plain || HELD > 0;
// A branch costs more than it saves where there are few columns to rescale.
constexpr bool kAlwaysRescales = params.plain && COLUMNS_V <= 64;
// Scores become weights relative to a number near the maximum so far. Where it changes, all lanes return true, and sums and
// results before are to be multiplied by `factor`. Four chains of maxima and of sums run side by side.
TCC_FN bool weigh(f32 (&s)[BLOCK_K / 2], Rows& rows, f32 (&factor)[2]) {
  f32 most[4] = {s[0], s[1], s[2], s[3]};
#pragma unroll
  for (i32 i = 4; i < BLOCK_K / 2; ++i) most[i % 4] = fmaxf(most[i % 4], s[i]);
  bool grows = false;
#pragma unroll
  for (i32 r = 0; r < 2; ++r) {
    f32& x = most[r] = fmaxf(most[r * 2], most[r * 2 + 1]);
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
    x = fmaxf(x, rows.max[r]);
    grows |= (x - rows.max[r]) * SCALE > kGrowth;
  }
  grows = __any_sync(~0u, grows);
  f32 zero[2];
#pragma unroll
  for (i32 r = 0; r < 2; ++r) {
    const f32 before = rows.max[r];
    if (grows) rows.max[r] = most[r];
    zero[r] = rows.max[r] == MINUS_INFINITY ? 0.f : rows.max[r] * SCALE;  // no key so far
    factor[r] = grows ? tcc_cuda_exp2_f32(before * SCALE - zero[r]) : 1.f;
  }
  f32 sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (i32 i = 0; i < BLOCK_K / 2; ++i) {
    s[i] = tcc_cuda_exp2_f32(__fmaf_rn(s[i], SCALE, -zero[i / 2 % 2]));
    sum[i % 4] += s[i];
  }
#pragma unroll
  for (i32 r = 0; r < 2; ++r) rows.sum[r] = __fmaf_rn(rows.sum[r], factor[r], sum[r * 2] + sum[r * 2 + 1]);
  return grows;
}
TCC_FN void pack(u32 (&p)[BLOCK_K / 4], const f32 (&s)[BLOCK_K / 2]) {
#pragma unroll
  for (i32 i = 0; i < BLOCK_K / 4; ++i) p[i] = pack_elements<ELEMENT>(s[i * 2], s[i * 2 + 1]);
}

// A walk that is known to be of two tiles is a loop of one turn, which the compiler unrolls. It then moves instructions of the
// first tile between the products of the second, has too few registers for both, and makes the products wait for each other.
// Where it does not see the number of the last tile it keeps the loop. A walk of one tile has none.
TCC_FN Range loop_over(Range range) {
  if constexpr (params.keys > BLOCK_K) asm volatile("" : "+r"(range.first));
  return range;
}

extern __shared__ __align__(1024) u8 shared_memory[];

TCC_ENTRY {
  const i32 thread = i32(TCC_THREAD);
  const i32 warp_of_all = __shfl_sync(~0u, thread / 32, 0);
  const u32 storage = (tcc_cuda_shared(shared_memory) + 1023) & ~1023u;
  const u32 key_tiles = storage + sizeof(AllQueries), value_tiles = key_tiles + sizeof(KeyTiles);
  const u32 barriers = value_tiles + sizeof(ValueTiles), key_barriers = barriers + sizeof(QueryBarriers);
  const auto queries_of = [&](i32 group) {
    return Queries(storage + group * u32(sizeof(Queries::Tiles)), barriers + group * u32(sizeof(Queries::Barriers)));
  };
  Keys keys(key_tiles, key_barriers);
  Values values(value_tiles, key_barriers + sizeof(KeyBarriers));
  if (thread == 0) {
    keys.init(1, GROUPS * 4);
    values.init(1, GROUPS * 4);
    for (i32 group = 0; group < GROUPS; ++group) queries_of(group).init(1, 4);
    barrier_init_done();
  }
  __syncthreads();
  const Size<params.queries> all_queries(SIZE_QUERIES);
  const Size<params.keys> all_keys(SIZE_KEYS);
  const Size<params.batches> batches(SIZE_BATCHES);
  const Size<attention_sm90::query_tiles(params)> query_tiles((all_queries + BLOCK_Q - 1) / BLOCK_Q);
  const auto place_of = [&](i32 n) -> Place {
    const QueryTilePlace at = query_tile<params.heads, params.orders>(n / PARTS, batches, query_tiles);
    return {at.batch, at.tile * BLOCK_Q, n % PARTS};
  };
  // Where tiles become shorter, each second round is walked backwards, so that all workgroups have as much to do.
  const auto tile_of = [&](i32 round) {
    const i32 block = i32(TCC_BLOCK);
    return round * WORKGROUPS + (params.orders && round % 2 ? WORKGROUPS - 1 - block : block);
  };
  // Divisions by sizes that come at run time are done before the wait for the launch before.
  const Place first_place = place_of(tile_of(0));
  TCC_BEGIN

  // With bounds of each query, all lanes of a warp ask.
  const auto range_of = [&](Place place) -> Range {
    i32 keys[4];
    if constexpr (params.by_query) {
      const Range range = keys_of_queries<BLOCK_Q>(thread % 32, all_keys, [&](i32 row, i32(&of_row)[4]) {
        const bool exists = all_queries.fills(BLOCK_Q) || place.query + row < all_queries;
        if (exists) key_range(TCC_BUFFERS place.batch, place.query + row, of_row);
        return exists;
      });
      return part_of<PARTS>(tiles_of_keys(BLOCK_K, range.first, range.end, range.inside, range.inside_end), place.part);
    }
    key_range(TCC_BUFFERS place.batch, place.query / BLOCK_Q, keys);
    return part_of<PARTS>(tiles_of_keys(BLOCK_K, keys[0], keys[1], keys[2], keys[3]), place.part);
  };
  constexpr bool LISTED = params.lists;
  const auto walk_on = [&](Place place, Range range, i32 tile, u32& seen, bool begins) {
    return next_tile<LISTED>(range, thread % 32, tile, begins, seen, [&](auto mine) {
      return tile_seen(TCC_BUFFERS place.batch, place.query / BLOCK_Q, mine) != 0;
    });
  };
  // All lanes of the warp that loads are there where all ask.
  constexpr bool TOGETHER = params.by_query || params.lists;
  if (warp_of_all < 4) {
    if constexpr (GROUPS > 1) shrink_registers<attention_sm90::producer_registers(params)>();
    const bool leads = warp_of_all == 0 && elect_lane();
    // One lane loads. Where all lanes ask for ranges, the others count stages beside it, and wait for it there.
    const auto load = [&](auto loads) {
      if (!TOGETHER || leads) loads();
    };
    if (leads || (TOGETHER && warp_of_all == 0)) {
      const TensorMap* const maps[] = {TCC_MAPS nullptr};
      const auto find_batch = [&](auto batch, auto& q, auto& k, auto& v) {
        if constexpr (params.rank_q > 2) batch_q(TCC_BUFFERS batch, q);
        if constexpr (params.rank_k > 2) batch_k(TCC_BUFFERS batch, k);
        if constexpr (params.rank_v > 2) batch_v(TCC_BUFFERS batch, v);
      };
      Queries queries = queries_of(0);
      for (i32 round = 0; round * WORKGROUPS < TILES; ++round) {
        const i32 n = tile_of(round);
        if (n >= TILES) continue;
        const Place place = round == 0 ? first_place : place_of(n);
        const Range range = range_of(place);
        u32 seen = 0;
        const i32 last = walk_on(place, range, range.end, seen, true);
        if (LISTED ? last < range.first : range.end <= range.first) continue;
        i32 first = last;  // that is walked so far
        i32 at_q[3] = {0, 0, 0}, at_k[3] = {0, 0, 0}, at_v[3] = {0, 0, 0};
        find_batch(place.batch, at_q, at_k, at_v);
        auto load_queries = [&](i32 group) {
          Queries mine = queries_of(group);
          mine.stage = queries.stage;
          mine.phase = queries.phase;
          load([&] {
            mine.wait_until_empty();
            barrier_arrive_expect(mine.full_barrier(), PANELS * 8192);
#pragma unroll
            for (i32 panel = 0; panel < PANELS; ++panel)
              tma_load<params.rank_q, false>(mine.tile() + panel * 8192, *maps[0], mine.full_barrier(), 0, panel * 64,
                                             place.query + group * 64, at_q);
          });
        };
        auto load_keys = [&](i32 tile) {
          load([&] {
            keys.wait_until_empty();
            barrier_arrive_expect(keys.full_barrier(), sizeof(Keys::Tiles) / params.stages);
#pragma unroll
            for (i32 panel = 0; panel < PANELS; ++panel)
              tma_load<params.rank_k, false>(keys.tile() + panel * (BLOCK_K * 128), *maps[KEY_MAP], keys.full_barrier(), 0,
                                             panel * 64, tile * BLOCK_K, at_k);
          });
          keys.advance(1);
        };
        auto load_values = [&](i32 tile) {
          load([&] {
            values.wait_until_empty();
            barrier_arrive_expect(values.full_barrier(), sizeof(Values::Tiles) / params.stages);
#pragma unroll
            for (i32 panel = 0; panel < PANELS_V; ++panel)
              tma_load<params.rank_v, false>(values.tile() + panel * (BLOCK_K * 128), *maps[KEY_MAP + 1], values.full_barrier(), 0,
                                             panel * 64, tile * BLOCK_K, at_v);
          });
          values.advance(1);
        };
        if constexpr (!COMPUTES_QUERIES) load_queries(0);
        load_keys(last);
        if constexpr (!COMPUTES_QUERIES) {
#pragma unroll
          for (i32 group = 1; group < GROUPS; ++group) load_queries(group);
          queries.advance(1);
        }
#pragma unroll 1  // one lane, far ahead of the others
        for (i32 tile = walk_on(place, range, last, seen, false), before = last; tile >= range.first;
             before = tile, tile = walk_on(place, range, tile, seen, false)) {
          load_keys(tile);
          load_values(LISTED ? before : tile + 1);
          first = tile;
        }
        load_values(LISTED ? first : range.first);
      }
    }
  } else {
    if constexpr (GROUPS > 1) grow_registers<attention_sm90::consumer_registers(params)>();
    const i32 group = warp_of_all / 4 - 1, lane = thread % 32;
    const i32 row_of_tile = (warp_of_all - 4) * 16 + lane / 4;
    Queries queries = queries_of(group);
    const Release<1> release_q(queries.empty, lane, 0);
    const Release<1> release_k(keys.empty, lane, 0), release_v(values.empty, lane, 0);
    constexpr bool TURNS = params.turns && GROUPS > 1;
    auto begin_turn = [&] {
      if constexpr (TURNS) named_barrier_sync(1 + group, 256);
    };
    auto end_turn = [&] {
      if constexpr (TURNS) named_barrier_arrive(1 + (group + 1) % GROUPS, 256);
    };
    // The group's threads store its queries as the copy engine would, where they are done with those before.
    const auto compute_queries = [&](auto place, u32 tile) {
      if constexpr (COMPUTES_QUERIES) {
        const auto load = [&](auto row, auto d, auto& v) { load_q(TCC_BUFFERS place.batch, row, d, v); };
        constexpr i32 REGISTERS = 32;
        using Panel = ComputedOperand<ELEMENT, 64, params.q_vector, true, true, REGISTERS, decltype(load)>;
        const Panel panels = {{}, thread % 128, place.query + group * 64, load};
        named_barrier_sync(1 + GROUPS + group, 128);
#pragma unroll 1
        for (i32 panel = 0; panel < PANELS; ++panel) {
          typename Panel::Values values;
          panels.fetch(values, 0, panel * 64);
          store_computed(panels, values, panel * 64, tile + panel * 8192);
        }
        fence_async_proxy();
        named_barrier_sync(1 + GROUPS + group, 128);
      }
    };
    if (TURNS && group == GROUPS - 1) named_barrier_arrive(1, 256);  // group 0 begins
#pragma unroll 1
    for (i32 round = 0; round * WORKGROUPS < TILES; ++round) {
      const i32 n = tile_of(round);
      if (n >= TILES) continue;
      const Place place = round == 0 ? first_place : place_of(n);
      const Range range = loop_over(range_of(place));
      const i32 row = place.query + row_of_tile;
      f32 o[COLUMNS_V / 2], s[BLOCK_K / 2];
      u32 p[BLOCK_K / 4];
      Rows rows = {{MINUS_INFINITY, MINUS_INFINITY}, {0, 0}};
#pragma unroll
      for (i32 i = 0; i < COLUMNS_V / 2; ++i) o[i] = 0;
      // Calls hook(query, row, pair, column, v, held) for each pair of this thread's scores of a tile: that of query + row and
      // of pair + column, of which `row` and `column` are known when the loop is unrolled.
      // Long hooks are called in a loop of a few rounds, of which each has the first eights of the keys: all move there in turn.
      u32 held[BLOCK_K / 8][2][HELD > 0 ? HELD : 1];
      auto each_pair_in = [&](auto rounds, i32 tile, auto hook) {
        constexpr i32 ROUNDS = decltype(rounds)::count, EIGHTS = BLOCK_K / 8 / ROUNDS;
        i32 pair = tile * (BLOCK_K / 2) + lane % 4;
        const auto visit = [&] {
#pragma unroll
          for (i32 i = 0; i < EIGHTS; ++i)
#pragma unroll
            for (i32 r = 0; r < 2; ++r) {
              f32 v[2] = {s[i * 4 + r * 2], s[i * 4 + r * 2 + 1]};
              hook(row, r * 8, pair, i * 4, v, held[i][r]);
              s[i * 4 + r * 2] = v[0];
              s[i * 4 + r * 2 + 1] = v[1];
            }
        };
        if constexpr (ROUNDS == 1) {
          visit();
        } else {
#pragma unroll 1
          for (i32 round = 0; round < ROUNDS; ++round) {
            visit();
            rotate<EIGHTS * 4, BLOCK_K / 2>([&](i32 i) -> f32& { return s[i]; });
#pragma unroll
            for (i32 word = 0; word < 2 * HELD; ++word)
              rotate<EIGHTS, BLOCK_K / 8>([&](i32 i) -> u32& { return held[i][word % 2][word / 2]; });
            pair += EIGHTS * 4;
          }
        }
      };
      auto each_pair = [&](i32 tile, auto hook) { each_pair_in(Rounds<1>(), tile, hook); };
      // Where all keys are seen but their number is open, the first tile of the walk, which may end past the last key, is
      // scored as any tile is, and those behind it are inside: the scores of either are made in one way alone.
      const auto is_inside = [&](i32 tile, auto first) {
        if constexpr (params.all_seen && params.keys > 0 && params.keys % BLOCK_K == 0) return true;
        return params.all_seen ? !first : tile >= range.inside && tile < range.inside_end;
      };
      // Loads what the hooks of a tile's scores read, long before they do.
      auto hold = [&](auto tile, auto first) {
        const bool inside = is_inside(tile, first);
        if constexpr (params.held_inside > 0) {
          if (inside)
            each_pair(tile, [&](auto query, auto row, auto pair, auto column, auto&, auto& held) {
              if (!ROWS_SHARE_HELD || row == 0) hold_inside(TCC_BUFFERS place.batch, query, row, pair, column, held);
            });
        }
        if constexpr (params.held > 0) {
          if (!inside)
            each_pair(tile, [&](auto query, auto row, auto pair, auto column, auto&, auto& held) {
              if (!ROWS_SHARE_HELD || row == 0) hold_score(TCC_BUFFERS place.batch, query, row, pair, column, held);
            });
        }
        // Two rows have the words of a distance at neighbouring eights of keys, and those of keys alone at the same.
        constexpr i32 LATER = ROWS_SHARE_HELD ? 0 : 1, WORDS = ROWS_SHARE_HELD ? HELD : params.held_distances;
#pragma unroll
        for (i32 i = LATER; i < BLOCK_K / 8; ++i)
#pragma unroll
          for (i32 word = 0; word < WORDS; ++word) held[i][1][word] = held[i - LATER][0][word];
      };
      RowBounds bounds[2] = {};
      if constexpr (params.bounded) {
#pragma unroll
        for (i32 r = 0; r < 2; ++r) {
          i32 keys[4];
          key_range(TCC_BUFFERS place.batch, row + r * 8, keys);
          bounds[r] = {keys[0], keys[1]};
        }
      }
      auto score_tile = [&](auto tile, auto first) {
        const bool inside = is_inside(tile, first);
        if (params.plain && inside) return;
        if constexpr (params.bounded) {
          const i32 key = tile * BLOCK_K + lane % 4 * 2;
#pragma unroll
          for (i32 i = 0; i < BLOCK_K / 2; ++i) s[i] = seen_within(s[i], key + i / 4 * 8 + i % 2, bounds[i / 2 % 2]);
        }
        // The hooks of all pairs, or of a constant `small`.
        const auto score_pairs = [&](auto small) {
          if constexpr (!params.plain) {
            if (inside) {
              each_pair_in(Rounds<params.score_rounds>(), tile, [&](auto query, auto row, auto pair, auto column, auto& v, auto& held) {
                if constexpr (params.small_bits != 0 && params.held_inside > 0)
                  score_inside(TCC_BUFFERS place.batch, query, row, pair, column, small, held, v);
                else if constexpr (params.small_bits != 0)
                  score_inside(TCC_BUFFERS place.batch, query, row, pair, column, small, v);
                else if constexpr (params.held_inside > 0)
                  score_inside(TCC_BUFFERS place.batch, query, row, pair, column, held, v);
                else
                  score_inside(TCC_BUFFERS place.batch, query, row, pair, column, v);
              });
              return;
            }
          }
          if constexpr (!params.bounded)
            each_pair_in(Rounds<params.score_rounds>(), tile, [&](auto query, auto row, auto pair, auto column, auto& v, auto& held) {
              if constexpr (params.small_bits != 0 && params.held > 0)
                score(TCC_BUFFERS place.batch, query, row, pair, column, small, held, v);
              else if constexpr (params.small_bits != 0)
                score(TCC_BUFFERS place.batch, query, row, pair, column, small, v);
              else if constexpr (params.held > 0)
                score(TCC_BUFFERS place.batch, query, row, pair, column, held, v);
              else
                score(TCC_BUFFERS place.batch, query, row, pair, column, v);
            });
        };
        if constexpr (params.small_bits != 0) {
          f32 most[4] = {0, 0, 0, 0};
#pragma unroll
          for (i32 i = 0; i < BLOCK_K / 2; ++i) most[i % 4] = fmaxf(most[i % 4], fabsf(s[i]));
          const f32 largest = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
          if (__all_sync(~0u, largest <= tcc_bits_f32(u32(params.small_bits))))
            score_pairs(1);
          else
            score_pairs(0);
        } else {
          score_pairs(0);
        }
      };
      auto change_weights = [&](auto tile) {
        if constexpr (params.weights == 4) {
          constexpr i32 ROUNDS = params.weight_rounds, EIGHTS = BLOCK_K / 8 / ROUNDS;
          const auto visit = [&](i32 key) {
#pragma unroll
            for (i32 i = 0; i < EIGHTS; i += 2)
#pragma unroll
              for (i32 r = 0; r < 2; ++r)
                change_eights(key + i * 8, lane % 4, s + (i * 4 + r * 2), s + (i * 4 + 4 + r * 2),
                              [&](auto key, auto& v) { weight(TCC_BUFFERS place.batch, row + r * 8, key, v); });
          };
          if constexpr (ROUNDS == 1) {
            visit(tile * BLOCK_K);
          } else {
#pragma unroll 1
            for (i32 round = 0; round < ROUNDS; ++round) {
              visit(tile * BLOCK_K + round * EIGHTS * 8);
              rotate<EIGHTS * 4, BLOCK_K / 2>([&](i32 i) -> f32& { return s[i]; });
            }
          }
        } else if constexpr (params.weights == 2) {
          each_pair_in(Rounds<params.weight_rounds>(), tile, [&](auto query, auto row, auto pair, auto column, auto& v, auto&) {
            weight(TCC_BUFFERS place.batch, query + row, (pair + column) * 2, v);
          });
        }
      };
      u32 seen = 0;
      const i32 last = walk_on(place, range, range.end, seen, true);
      if (LISTED ? last >= range.first : range.end > range.first) {
        const u32 my_q = queries.tile();
        compute_queries(place, my_q);
        if constexpr (!COMPUTES_QUERIES) queries.wait_until_full();
        f32 factor[2];
        hold(last, true);
        keys.wait_until_full();
        begin_turn();
        wgmma_fence();
        multiply_keys(s, my_q, keys.tile());
        wgmma_commit();
        end_turn();
        wgmma_wait<0>();
        settle_all(s);
        release_k(keys.stage);
        keys.advance(1);
        score_tile(last, true);
        weigh(s, rows, factor);
        change_weights(last);
        pack(p, s);
        i32 next = walk_on(place, range, last, seen, false);
        if (kWeighsEarly && (LISTED ? next >= range.first : range.end - 1 > range.first)) {
          hold(next, false);
          keys.wait_until_full();
        }
#pragma unroll 1
        for (i32 tile = next; tile >= range.first; tile = LISTED ? next : tile - 1) {
          if constexpr (!kWeighsEarly) keys.wait_until_full();
          begin_turn();
          wgmma_fence();
          multiply_keys(s, my_q, keys.tile());
          wgmma_commit();
          values.wait_until_full();
          multiply_values(o, p, values.tile());
          wgmma_commit();
          end_turn();
          if constexpr (kWeighsEarly) keys.wait_until_full();
          wgmma_wait<1>();
          settle_all(s);
          release_k(keys.stage);
          keys.advance(1);
          score_tile(tile, false);
          const bool grows = weigh(s, rows, factor);
          change_weights(tile);
          settle_all(s);
          if constexpr (LISTED) next = walk_on(place, range, tile, seen, false);
          if (kWeighsEarly && (LISTED ? next >= range.first : tile > range.first)) {
            hold(LISTED ? next : tile - 1, false);
            keys.wait_until_full();
          }
          wgmma_wait<0>();
          settle_all(o);
          release_v(values.stage);
          values.advance(1);
          pack(p, s);
          if (kAlwaysRescales || grows) {
#pragma unroll
            for (i32 i = 0; i < COLUMNS_V / 2; ++i) o[i] *= factor[i / 2 % 2];
          }
        }
        if constexpr (!COMPUTES_QUERIES) {
          release_q(queries.stage);
          queries.advance(1);
        }
        values.wait_until_full();
        wgmma_fence();
        multiply_values(o, p, values.tile());
        wgmma_commit();
        wgmma_wait<0>();
        settle_all(o);
        release_v(values.stage);
        values.advance(1);
      }
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        f32 sum = rows.sum[r];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        const auto store_sums = [&](auto query) {
          if (lane % 4 != 0) return;
          if constexpr (PARTS > 1) {
            const f32 v[2] = {rows.max[r] * (SCALE * kLog2), sum};
            store_part_sums(TCC_BUFFERS place.batch * PARTS + place.part, query, v);
          } else if constexpr (params.sums) {
            const f32 v[1] = {log_sum(rows.max[r], SCALE, sum)};
            store_sum(TCC_BUFFERS place.batch, query, v);
          }
        };
        store_sums(row + r * 8);
        const auto store = [&](auto query, i32 part, const f32(&v)[8]) {
          if constexpr (PARTS > 1)
            store_part(TCC_BUFFERS place.batch * PARTS + place.part, query, part, v);
          else
            epilogue(TCC_BUFFERS place.batch, query, part, v);
        };
        const f32 inverse = 1 / sum;
        // Lanes of a quad exchange their pairs of four eights of columns, so that each has all of one.
#pragma unroll
        for (i32 e = 0; e < COLUMNS_V / 8; e += 4) {
          f32 v[4][2];
#pragma unroll
          for (i32 j = 0; j < 4; ++j)
#pragma unroll
            for (i32 i = 0; i < 2; ++i) {
              const f32 x = e + j < COLUMNS_V / 8 ? o[(e + j < COLUMNS_V / 8 ? e + j : 0) * 4 + r * 2 + i] : 0;
              v[j][i] = PARTS > 1 ? x : normalized(x, sum, inverse, params.safe);
            }
          exchange_pairs(v, lane % 4);
          const f32 segment[8] = {v[0][0], v[0][1], v[1][0], v[1][1], v[2][0], v[2][1], v[3][0], v[3][1]};
          store(row + r * 8, e + lane % 4, segment);
        }
      }
    }
  }
}
