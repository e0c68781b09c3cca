// Attention by mma.sync, sm_80 and later: out[query] = sum over keys of softmax(score(query . key)) * value, per batch, in
// one pass over the keys.
//
// A warp has 16 or 32 rows of a tile of queries and, of each tile of keys, all or its share. It computes scores, keeps
// the maximum and the sum of each row in registers, and multiplies the weights, which stay in the registers of the
// scores, with the values. Tiles of keys and values come to shared memory meanwhile, `stages` of them. Keys are walked
// from the last to the first. Warps that share keys add their results at the end; workgroups that do store parts, or, as a
// cluster, send each other theirs: each finishes some of the results.
//
// The constant `params` is an AttentionSm80 (attention_sm80_shape.h). Hooks (attention_hooks.h has their meaning), of an
// operand x by how it is loaded:
//   tiles, rows  start_x(buffers, batch); of rows that lie apart, row_x(buffers, batch, row)
//   computed     load_x(buffers, batch, row, d, v)
// and
//   score(buffers, batch, query, key, v), score_inside    of 2 neighbouring keys; the former unless params.bounded, the
//                                                         latter unless params.plain
//   weight(buffers, batch, query, key, v)           changes weights of params.weights neighbouring keys, where not 0
//   key_range(buffers, batch, tile, range)          with params.by_query, of a query in the place of the tile
//   tile_seen(buffers, batch, query tile, key tile) with params.lists: 0 where no query of the tile sees a key
//   epilogue(buffers, batch, row, part, acc)        of 8 neighbouring columns
//   store_sum(buffers, batch, row, v)               with params.sums
// With params.parts > 1 there are, in the place of the last two, store_part and store_part_sums (attention_parts.h).
#include "../common/attention_sm80_shape.h"
#include "attention_sm80_operand.cuh"
#include "attention_sm80_fragments.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 128
#define GRID 512
constexpr AttentionSm80 example() {
  AttentionSm80 p;
  p.batches = 16;
  p.queries = p.keys = 4096;
  p.depth = p.depth_v = 128;
  p.q.stride = p.k.stride = p.v.stride = 128;
  p.scale_bits = 0x3e029431;  // log2(e) / sqrt(128)
  return p;
}
constexpr AttentionSm80 params = example();
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP, 2) attention(const u16* __restrict__ b0, f32* __restrict__ b1)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1,
TCC_FN i64 start_q(const u16*, f32*, i32 batch) { return i64(batch) * 4096 * 128; }
TCC_FN i64 start_k(const u16*, f32*, i32 batch) { return i64(batch) * 4096 * 128; }
TCC_FN i64 start_v(const u16*, f32*, i32 batch) { return i64(batch) * 4096 * 128; }
TCC_FN void score(const u16*, f32*, i32, i32, i32, f32 (&)[2]) {}
TCC_FN void key_range(const u16*, f32*, i32, i32, i32 (&range)[4]) {
  range[0] = range[2] = 0;
  range[1] = range[3] = 4096;
}
TCC_FN void epilogue(const u16*, f32* b1, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  if (row >= 4096 || part >= 16) return;
  for (i32 i = 0; i < 8; ++i) b1[(batch * 4096 + row) * 128 + part * 8 + i] = acc[i];
}
#endif

namespace shape = attention_sm80;
constexpr i32 BLOCK_Q = params.block_q, BLOCK_K = params.block_k, THREADS = shape::threads(params);
constexpr i32 WARP_Q = shape::warp_q(params), WARP_K = shape::warp_k(params);
constexpr i32 WARPS_Q = params.warps_q, WARPS_K = params.warps_k, STAGES = params.stages;
constexpr i32 PARTS = params.parts, CLUSTER = params.cluster, SHARERS = shape::sharers(params);
constexpr i32 DEPTH = params.depth, DEPTH_V = params.depth_v, PACK = params.pack;
constexpr i32 COLUMNS = shape::columns(params), COLUMNS_V = shape::columns_v(params);
constexpr bool KEEPS_QUERIES = shape::keeps_queries(params);
constexpr Element ELEMENT = params.element;
// Fragments: 16 rows; 8 keys; 32 bytes of depths, or of keys of weights; 8 depths of values.
constexpr i32 STEP = 32 / shape::bytes(params), ROWS = WARP_Q / 16, TILES_K = WARP_K / 8, PAIRS_K = WARP_K / 16;
constexpr i32 STEPS = COLUMNS / STEP, STEPS_V = WARP_K / STEP, TILES_V = COLUMNS_V / 8;
static_assert(WORKGROUP == THREADS, "the launch is that of the params");
#ifndef OPEN_GRID
static_assert(GRID == shape::workgroups(params), "the launch is that of the params");
#endif
static_assert(shape::legal_warps(params), "warps have 16 or 32 rows, and multiples of 16 keys");
static_assert(PACK == 1 || shape::query_tiles(params) == 1, "packed batches are in one tile");

using QueryTile = SharedTile<ELEMENT, true, BLOCK_Q, COLUMNS>;
using KeyTile = SharedTile<ELEMENT, true, BLOCK_K, COLUMNS>;
using ValueTile = SharedTile<ELEMENT, true, BLOCK_K, COLUMNS_V>;
struct Side {
  static constexpr Element element = ELEMENT;
  static constexpr i32 threads = THREADS;
  static constexpr i32 together = BLOCK_Q <= 16 ? 8 : 4;  // accumulators of more rows leave fewer registers
};
struct QuerySide : Side {
  static constexpr bool linear = PACK == 1 && !params.q.apart;
  using Tile = QueryTile;
  static constexpr AttentionOperand operand = params.q;
  static constexpr i32 depth = DEPTH;
};
struct KeySide : Side {
  using Tile = KeyTile;
  static constexpr AttentionOperand operand = params.k;
  static constexpr bool linear = !params.k.apart;
  static constexpr i32 depth = DEPTH;
};
struct ValueSide : Side {
  using Tile = ValueTile;
  static constexpr AttentionOperand operand = params.v;
  static constexpr bool linear = !params.v.apart;
  static constexpr i32 depth = DEPTH_V;
};
static_assert(QueryTile::BYTES + STAGES * (KeyTile::BYTES + ValueTile::BYTES) == shape::tiles_bytes(params),
              "the host knows the storage");

// Softmax keeps these of a thread's rows, two of each fragment: the number that the weights are relative to, which is at
// most kGrowth binary orders below the maximum so far, and the sum of this thread's weights.
struct Rows {
  f32 max[ROWS][2], sum[ROWS][2];
};
// Changed weights of f16 have no room above 1.
constexpr f32 kGrowth = params.weights != 0 && ELEMENT == Element::f16 ? 0 : 8;

// Scores become weights. The results so far are rescaled where a maximum has grown: rarely, but for the first tile.
TCC_FN void weigh(f32 (&s)[ROWS][TILES_K][4], f32 (&o)[ROWS][TILES_V][4], Rows& rows) {
  f32 most[ROWS][2];
  bool grows = false;
#pragma unroll
  for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      f32 x = fmaxf(s[m][0][r * 2], s[m][0][r * 2 + 1]);
#pragma unroll
      for (i32 i = 1; i < TILES_K; ++i) x = fmaxf(x, fmaxf(s[m][i][r * 2], s[m][i][r * 2 + 1]));
      x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
      x = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
      most[m][r] = fmaxf(x, rows.max[m][r]);
      grows |= (most[m][r] - rows.max[m][r]) * SCALE > kGrowth;
    }
  const auto zero_of = [](f32 max) { return max == MINUS_INFINITY ? 0.f : max * SCALE; };  // no key so far
  if (__any_sync(~0u, grows)) {
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        const f32 factor = tcc_cuda_exp2_f32(rows.max[m][r] * SCALE - zero_of(most[m][r]));
        rows.max[m][r] = most[m][r];
        rows.sum[m][r] *= factor;
#pragma unroll
        for (i32 e = 0; e < TILES_V; ++e) {
          o[m][e][r * 2] *= factor;
          o[m][e][r * 2 + 1] *= factor;
        }
      }
  }
#pragma unroll
  for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      const f32 zero = zero_of(rows.max[m][r]);
      f32 sum = 0;
#pragma unroll
      for (i32 i = 0; i < TILES_K; ++i)
#pragma unroll
        for (i32 j = 0; j < 2; ++j) {
          f32& x = s[m][i][r * 2 + j];
          x = tcc_cuda_exp2_f32(__fmaf_rn(x, SCALE, -zero));
          sum += x;
        }
      rows.sum[m][r] += sum;
    }
}

extern __shared__ __align__(128) unsigned char shared_memory[];

// Workgroups of a cluster send the one that finishes eights of results their eights, relative to their own maximum, and
// the maxima and sums of their rows.
constexpr i32 SENT_ROWS = params.sent_rows, FINISHED = CLUSTER > 1 ? i32(shape::finished_by(params, 0)) : 1;
struct Inbox {
  f32 eights[CLUSTER][FINISHED][8];
  float2 sums[CLUSTER][SENT_ROWS];
};
static_assert(CLUSTER == 1 || sizeof(Inbox) == shape::inbox_bytes(params), "the host knows the storage");
// Sends a pair of words to workgroup `rank`.
TCC_FN void send(const void* to, u32 rank, f32 a, f32 b, const u64* sent) {
  tcc_cuda_store_async(tcc_cuda_peer(tcc_cuda_shared(to), rank), u64(__float_as_uint(b)) << 32 | __float_as_uint(a),
                       tcc_cuda_peer(tcc_cuda_shared(sent), rank));
}

// Adds COUNT parts of an eight of results, each relative to its own maximum. `of_part`(i) is the i-th maximum and sum,
// `eight`(i) where its eight begins. `sum` and `v` become relative to the largest maximum, which is returned.
template <i32 COUNT, class OfPart, class Eight> TCC_FN f32 add_parts(OfPart of_part, Eight eight, f32& sum, f32 (&v)[8]) {
  f32 most = MINUS_INFINITY;
#pragma unroll
  for (i32 w = 0; w < COUNT; ++w) most = fmaxf(most, of_part(w).x);
  const f32 zero = most == MINUS_INFINITY ? 0.f : most * SCALE;
  sum = 0;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) v[i] = 0;
#pragma unroll
  for (i32 w = 0; w < COUNT; ++w) {
    const f32 factor = tcc_cuda_exp2_f32(__fmaf_rn(of_part(w).x, SCALE, -zero));
    sum = __fmaf_rn(of_part(w).y, factor, sum);
#pragma unroll
    for (i32 i = 0; i < 8; i += 4) {
      const float4 x = *(const float4*)(eight(w) + i);
      v[i] = __fmaf_rn(x.x, factor, v[i]);
      v[i + 1] = __fmaf_rn(x.y, factor, v[i + 1]);
      v[i + 2] = __fmaf_rn(x.z, factor, v[i + 2]);
      v[i + 3] = __fmaf_rn(x.w, factor, v[i + 3]);
    }
  }
  return most;
}

TCC_ENTRY {
  // Sizes decide the place: it is found while the launch before ends.
  const i32 block = i32(TCC_BLOCK), part = block % SHARERS;
  const Size<params.queries> all_queries(SIZE_QUERIES);
  const Size<params.keys> all_keys(SIZE_KEYS);
  const Size<shape::packs(params)> packs(SIZE_BATCHES / PACK);
  const Size<shape::query_tiles(params)> query_tiles(params.one_query_tile ? 1 : (all_queries * PACK + BLOCK_Q - 1) / BLOCK_Q);
  const QueryTilePlace place = query_tile<params.heads, params.orders>(block / SHARERS, packs, query_tiles);
  TCC_BEGIN
  const i32 thread = i32(TCC_THREAD), lane = thread % 32;
  const i32 warp = __shfl_sync(~0u, thread / 32, 0);
  const i32 warp_q = warp % WARPS_Q, warp_k = warp / WARPS_Q;
  Inbox& inbox = *(Inbox*)(shared_memory + shape::inbox_begin(params));
  u64* const sent = (u64*)(&inbox + 1);
  if constexpr (CLUSTER > 1) {
    tcc_cuda_expect(sent, u32(shape::sent_bytes(params, part % CLUSTER)));
    tcc_cuda_cluster_arrive();
  }
  const i32 batch0 = place.batch * PACK;  // of the first row
  // Rows of the tile as the hooks know them.
  const auto row_at = [&](i32 row) -> OperandRow {
    if constexpr (PACK == 1) {
      const i32 query = place.tile * BLOCK_Q + row;
      return {batch0, query, all_queries.fills(BLOCK_Q) || query < all_queries};
    } else {
      const i32 number = row / all_queries, last = PACK - 1;
      return {batch0 + (number < last ? number : last), row % all_queries, row < PACK * all_queries};
    }
  };

  Range range = {all_keys, 0, 0, all_keys};
  if constexpr (params.by_query) {
    range = keys_of_queries<BLOCK_Q>(lane, all_keys, [&](i32 row, i32(&keys)[4]) {
      const OperandRow at = row_at(row);
      if (at.exists) key_range(TCC_BUFFERS at.batch, at.row, keys);
      return at.exists;
    });
  } else {
#pragma unroll 1
    for (i32 i = 0; i < PACK; ++i) {
      i32 keys[4];
      key_range(TCC_BUFFERS batch0 + i, place.tile, keys);
      range = {keys[0] < range.first ? keys[0] : range.first, keys[1] > range.end ? keys[1] : range.end,
               keys[2] > range.inside ? keys[2] : range.inside, keys[3] < range.inside_end ? keys[3] : range.inside_end};
    }
  }
  range = tiles_of_keys(BLOCK_K, range.first, range.end, range.inside, range.inside_end);
  if constexpr (params.one_key_tile) {
    range.first = 0;
    range.end = 1;
  }
  range = part_of<SHARERS>(range, part);

  constexpr bool LISTS = params.lists;
  static_assert(!LISTS || PACK == 1, "a list is about the queries of one batch");
  u32 seen = 0;
  const auto walk_on = [&](i32 tile, bool begins) {
    return next_tile<LISTS>(range, lane, tile, begins, seen,
                            [&](auto mine) { return tile_seen(TCC_BUFFERS batch0, place.tile, mine) != 0; });
  };
  // With a list, the tile that is walked and those on their way.
  constexpr i32 AHEAD = STAGES == 1 ? 1 : STAGES - 1;
  i32 walk[AHEAD + 1];
  if constexpr (LISTS) {
    walk[0] = walk_on(range.end, true);
#pragma unroll
    for (i32 i = 1; i <= AHEAD; ++i) walk[i] = walk_on(walk[i - 1], false);
  }

  unsigned char* const key_tiles = shared_memory + QueryTile::BYTES;
  unsigned char* const value_tiles = key_tiles + STAGES * KeyTile::BYTES;
  const auto q_hooks = ATTENTION_HOOKS(q);
  const auto k_hooks = ATTENTION_HOOKS(k);
  const auto v_hooks = ATTENTION_HOOKS(v);
  const auto key_at = [&](i32 tile) {
    return [=](i32 r) -> OperandRow {
      const i32 key = tile * BLOCK_K + r;
      return {batch0, key, all_keys.fills(BLOCK_K) || key < all_keys};
    };
  };
  // Where rows of a tile of keys begin, or of a tile of queries.
  const auto keys_from = [&](const auto& hooks, auto side, i32 tile) {
    return [&hooks, batch0, tile](auto r) {
      constexpr AttentionOperand X = decltype(side)::operand;
      constexpr i64 stride = X.stride;
      if constexpr (X.apart)
        return hooks.row(batch0, tile * BLOCK_K + r);
      else
        return hooks.start(batch0) + i64(tile * BLOCK_K) * stride + i64(r) * stride;
    };
  };
  const auto query_offset = [&](auto r) {
    if constexpr (params.q.apart)
      return q_hooks.row(row_at(r).batch, row_at(r).row);
    else if constexpr (PACK == 1)
      return q_hooks.start(batch0) + i64(place.tile * BLOCK_Q) * i64(params.q.stride) + i64(r) * i64(params.q.stride);
    else
      return q_hooks.start(row_at(r).batch) + i64(row_at(r).row) * i64(params.q.stride);
  };
  const auto bring_keys = [&](i32 tile, i32 slot) {
    if (tile >= range.first)
      bring<KeySide>(k_hooks, key_tiles + slot * KeyTile::BYTES, thread, key_at(tile), keys_from(k_hooks, KeySide(), tile));
  };
  const auto bring_values = [&](i32 tile, i32 slot) {
    if (tile >= range.first)
      bring<ValueSide>(v_hooks, value_tiles + slot * ValueTile::BYTES, thread, key_at(tile),
                       keys_from(v_hooks, ValueSide(), tile));
  };

  const Lane<QueryTile> query_lane(warp_q * WARP_Q, lane & 15, lane >> 4);
  const Lane<KeyTile> key_lane(warp_k * WARP_K, (lane & 7) + (lane >> 4) * 8, lane >> 3 & 1);
  const ValueFragments<ELEMENT, ValueTile> value_fragments(warp_k * WARP_K, lane);
  const u32 queries = tcc_cuda_shared(shared_memory);
  const auto read_queries = [&](i32 step, u32(&a)[ROWS][4]) {
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
      load_matrices<false>(query_lane.at(queries, m * 16, step * 2), a[m][0], a[m][1], a[m][2], a[m][3]);
  };
  u32 kept[KEEPS_QUERIES ? STEPS : 1][ROWS][4];

  // S = Q K^T. The next fragments are read before these are multiplied.
  const auto multiply_keys = [&](f32(&s)[ROWS][TILES_K][4], u32 tile) {
    u32 a[ROWS][4], b[2][4];
    const auto read_keys = [&](i32 n, u32(&f)[4]) {
      load_matrices<false>(key_lane.at(tile, n % PAIRS_K * 16, n / PAIRS_K * 2), f[0], f[1], f[2], f[3]);
    };
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
      for (i32 i = 0; i < TILES_K; ++i)
#pragma unroll
        for (i32 c = 0; c < 4; ++c) s[m][i][c] = 0;
    read_keys(0, b[0]);
#pragma unroll
    for (i32 n = 0; n < STEPS * PAIRS_K; ++n) {
      const i32 step = n / PAIRS_K, pair = n % PAIRS_K;
      if (n + 1 < STEPS * PAIRS_K) read_keys(n + 1, b[(n + 1) % 2]);
      if (!KEEPS_QUERIES && pair == 0) read_queries(step, a);
#pragma unroll
      for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
          const u32 f[2] = {b[n % 2][i * 2], b[n % 2][i * 2 + 1]};
          mma<ELEMENT, ELEMENT>(s[m][pair * 2 + i], KEEPS_QUERIES ? kept[KEEPS_QUERIES ? step : 0][m] : a[m], f);
        }
    }
  };
  // O += P V.
  const auto multiply_values = [&](f32(&o)[ROWS][TILES_V][4], const f32(&s)[ROWS][TILES_K][4], u32 tile) {
    constexpr i32 GROUP = ValueFragments<ELEMENT, ValueTile>::COUNT, GROUPS = TILES_V / GROUP;
    u32 b[2][GROUP][2], p[ROWS][4];
    const auto read_values = [&](i32 n, u32(&f)[GROUP][2]) { value_fragments.read(tile, n / GROUPS, n % GROUPS, f); };
    read_values(0, b[0]);
#pragma unroll
    for (i32 n = 0; n < STEPS_V * GROUPS; ++n) {
      const i32 step = n / GROUPS, group = n % GROUPS;
      if (n + 1 < STEPS_V * GROUPS) read_values(n + 1, b[(n + 1) % 2]);
      if (group == 0) {
#pragma unroll
        for (i32 m = 0; m < ROWS; ++m) weight_fragment<ELEMENT, params.weights == 0>(s[m], step, p[m]);
      }
#pragma unroll
      for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
        for (i32 i = 0; i < GROUP; ++i) mma<ELEMENT, ELEMENT>(o[m][group * GROUP + i], p[m], b[n % 2][i]);
    }
  };

  OperandRow my_rows[ROWS][2];
#pragma unroll
  for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
    for (i32 r = 0; r < 2; ++r) my_rows[m][r] = row_at(warp_q * WARP_Q + m * 16 + r * 8 + lane / 4);
  // Calls round(eights) for the eights of keys from that number on, which are the first of `s` then.
  const auto in_rounds = [&](auto rounds, auto& s, auto round) {
    constexpr i32 ROUNDS = decltype(rounds)::count, EIGHTS = TILES_K / ROUNDS;
    if constexpr (ROUNDS == 1) {
      round(0);
    } else {
#pragma unroll 1
      for (i32 n = 0; n < ROUNDS; ++n) {
        round(n * EIGHTS);
#pragma unroll
        for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
          for (i32 c = 0; c < 4; ++c) rotate<EIGHTS, TILES_K>([&](i32 i) -> f32& { return s[m][i][c]; });
      }
    }
  };
  const Rounds<params.score_rounds> score_rounds;
  const Rounds<params.weight_rounds> weight_rounds;
  // Calls hook(batch, query, key, v) for each pair of this thread's scores or weights of a tile.
  const auto each_pair = [&](auto rounds, auto& s, i32 tile, auto hook) {
    constexpr i32 EIGHTS = TILES_K / decltype(rounds)::count;
    in_rounds(rounds, s, [&](i32 eights) {
      const i32 key = tile * BLOCK_K + warp_k * WARP_K + eights * 8 + lane % 4 * 2;
#pragma unroll
      for (i32 i = 0; i < EIGHTS; ++i)
#pragma unroll
        for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
          for (i32 r = 0; r < 2; ++r) {
            f32 v[2] = {s[m][i][r * 2], s[m][i][r * 2 + 1]};
            hook(my_rows[m][r].batch, my_rows[m][r].row, key + i * 8, v);
            s[m][i][r * 2] = v[0];
            s[m][i][r * 2 + 1] = v[1];
          }
    });
  };
  RowBounds bounds[ROWS][2] = {};
  if constexpr (params.bounded) {
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        i32 keys[4];
        key_range(TCC_BUFFERS my_rows[m][r].batch, my_rows[m][r].row, keys);
        bounds[m][r] = {keys[0], keys[1]};
      }
  }
  const auto score_tile = [&](auto& s, i32 tile) {
    const bool inside = tile >= range.inside && tile < range.inside_end;
    if (params.plain && inside) return;
    if constexpr (params.bounded) {
      const i32 key = tile * BLOCK_K + warp_k * WARP_K + lane % 4 * 2;
#pragma unroll
      for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
        for (i32 i = 0; i < TILES_K; ++i)
#pragma unroll
          for (i32 c = 0; c < 4; ++c) s[m][i][c] = seen_within(s[m][i][c], key + i * 8 + c % 2, bounds[m][c / 2]);
    }
    if constexpr (!params.plain) {
      if (inside) {
        each_pair(score_rounds, s, tile, [&](auto batch, auto query, auto key, auto& v) { score_inside(TCC_BUFFERS batch, query, key, v); });
        return;
      }
    }
    if constexpr (!params.bounded)
      each_pair(score_rounds, s, tile, [&](auto batch, auto query, auto key, auto& v) { score(TCC_BUFFERS batch, query, key, v); });
  };
  const auto change_weights = [&](auto& s, i32 tile) {
    if constexpr (params.weights == 4) {
      in_rounds(weight_rounds, s, [&](i32 eights) {
        const i32 key = tile * BLOCK_K + warp_k * WARP_K + eights * 8;
#pragma unroll
        for (i32 i = 0; i < TILES_K / params.weight_rounds; i += 2)
#pragma unroll
          for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
            for (i32 r = 0; r < 2; ++r)
              change_eights(key + i * 8, lane % 4, &s[m][i][r * 2], &s[m][i + 1][r * 2], [&](auto key, auto& v) {
                weight(TCC_BUFFERS my_rows[m][r].batch, my_rows[m][r].row, key, v);
              });
      });
    } else if constexpr (params.weights == 2) {
      each_pair(weight_rounds, s, tile, [&](auto batch, auto query, auto key, auto& v) { weight(TCC_BUFFERS batch, query, key, v); });
    }
  };

  f32 o[ROWS][TILES_V][4];
  Rows rows;
#pragma unroll
  for (i32 m = 0; m < ROWS; ++m) {
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      rows.max[m][r] = MINUS_INFINITY;
      rows.sum[m][r] = 0;
    }
#pragma unroll
    for (i32 e = 0; e < TILES_V; ++e)
#pragma unroll
      for (i32 c = 0; c < 4; ++c) o[m][e][c] = 0;
  }

  bring<QuerySide>(q_hooks, shared_memory, thread, row_at, query_offset);
  if constexpr (STAGES == 1) {
    bring_keys(LISTS ? walk[0] : range.end - 1, 0);
    commit_copies();
  } else {
#pragma unroll
    for (i32 t = 0; t < STAGES - 1; ++t) {
      bring_keys(LISTS ? walk[t] : range.end - 1 - t, t);
      bring_values(LISTS ? walk[t] : range.end - 1 - t, t);
      commit_copies();
    }
  }
  if constexpr (KEEPS_QUERIES) {
    wait_for_copies<STAGES == 1 ? 0 : STAGES - 2>();
#pragma unroll
    for (i32 step = 0; step < STEPS; ++step) read_queries(step, kept[step]);
  }
  i32 slot = 0;
#pragma unroll 1
  for (i32 tile = LISTS ? walk[0] : range.end - 1; tile >= range.first; tile = LISTS ? walk[0] : tile - 1) {
    const u32 keys = tcc_cuda_shared(key_tiles) + slot * KeyTile::BYTES;
    const u32 values = tcc_cuda_shared(value_tiles) + slot * ValueTile::BYTES;
    f32 s[ROWS][TILES_K][4];
    if constexpr (STAGES == 1) {
      // The keys have come, and the values of the tile before are done with.
      wait_for_copies<0>();
      bring_values(tile, 0);
      commit_copies();
      multiply_keys(s, keys);
      wait_for_copies<0>();
      bring_keys(LISTS ? walk[1] : tile - 1, 0);
      commit_copies();
    } else {
      // The tile has come, and the one before is done with: the next goes to its slot.
      wait_for_copies<STAGES - 2>();
      const i32 free = slot == 0 ? STAGES - 1 : slot - 1;
      bring_keys(LISTS ? walk[AHEAD] : tile - (STAGES - 1), free);
      bring_values(LISTS ? walk[AHEAD] : tile - (STAGES - 1), free);
      commit_copies();
      multiply_keys(s, keys);
      slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    score_tile(s, tile);
    weigh(s, o, rows);
    change_weights(s, tile);
    multiply_values(o, s, values);
    if constexpr (LISTS) {
#pragma unroll
      for (i32 i = 0; i < AHEAD; ++i) walk[i] = walk[i + 1];
      walk[AHEAD] = walk_on(walk[AHEAD], false);
    }
  }

  // Sums of all lanes of a row.
#pragma unroll
  for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      rows.sum[m][r] += __shfl_xor_sync(~0u, rows.sum[m][r], 1);
      rows.sum[m][r] += __shfl_xor_sync(~0u, rows.sum[m][r], 2);
    }
  // Parts are normalised when they are combined.
  const auto result = [](f32 x, f32 sum, f32 inverse) { return PARTS > 1 ? x : normalized(x, sum, inverse, params.safe); };
  const auto store_sums = [&](auto row, f32 most, f32 sum) {
    if (!row.exists) return;
    if constexpr (PARTS > 1) {
      const f32 v[2] = {most * (SCALE * kLog2), sum};
      store_part_sums(TCC_BUFFERS row.batch * PARTS + part, row.row, v);
    } else if constexpr (params.sums) {
      const f32 v[1] = {log_sum(most, SCALE, sum)};
      store_sum(TCC_BUFFERS row.batch, row.row, v);
    }
  };
  const auto store = [&](auto row, i32 segment, const f32(&v)[8]) {
    if (!row.exists) return;
    if constexpr (PARTS > 1)
      store_part(TCC_BUFFERS row.batch * PARTS + part, row.row, segment, v);
    else
      epilogue(TCC_BUFFERS row.batch, row.row, segment, v);
  };
  if constexpr (WARPS_K * CLUSTER == 1) {
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        const OperandRow row = my_rows[m][r];
        if (lane % 4 == 0) store_sums(row, rows.max[m][r], rows.sum[m][r]);
        const f32 sum = rows.sum[m][r], inverse = 1 / sum;
        // Each lane of a quad gets one of four eights of columns.
#pragma unroll
        for (i32 e = 0; e < TILES_V; e += 4) {
          f32 v[4][2];
#pragma unroll
          for (i32 j = 0; j < 4; ++j)
#pragma unroll
            for (i32 i = 0; i < 2; ++i)
              v[j][i] = e + j < TILES_V ? result(o[m][e + j < TILES_V ? e + j : 0][r * 2 + i], sum, inverse) : 0;
          f32 segment[8];
          result_segment<ELEMENT>(v, lane % 4, segment);
          store(row, e + lane % 4, segment);
        }
      }
  } else {
    // Warps that share keys meet in shared memory, each with its results relative to its own maximum.
    constexpr i32 LINE = shape::exchanged_line(params);
    f32(*const results)[BLOCK_Q][LINE] = (f32(*)[BLOCK_Q][LINE])shared_memory;
    float2(*const sums)[BLOCK_Q] = (float2(*)[BLOCK_Q])(results + WARPS_K);
    wait_for_copies<0>();
#pragma unroll
    for (i32 m = 0; m < ROWS; ++m)
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        const i32 row = warp_q * WARP_Q + m * 16 + r * 8 + lane / 4;
        if (lane % 4 == 0) sums[warp_k][row] = make_float2(rows.max[m][r], rows.sum[m][r]);
        put_results<ELEMENT>(results[warp_k][row], o[m], r, lane % 4);
      }
    __syncthreads();
    constexpr i32 SEGMENTS = COLUMNS_V / 8;
    const auto finish = [&](auto row, i32 segment, f32 most, f32 sum, f32(&v)[8]) {
      if (segment == 0) store_sums(row, most, sum);
      const f32 inverse = 1 / sum;
#pragma unroll
      for (i32 i = 0; i < 8; ++i) v[i] = result(v[i], sum, inverse);
      store(row, segment, v);
    };
    if constexpr (CLUSTER > 1) tcc_cuda_cluster_wait();  // all barriers are there
#pragma unroll 1
    for (i32 n = thread; n < (CLUSTER > 1 ? SENT_ROWS : BLOCK_Q) * SEGMENTS; n += THREADS) {
      const i32 number = n / SEGMENTS, segment = n % SEGMENTS;
      if (CLUSTER == 1 && !row_at(number).exists) continue;
      f32 sum, v[8];
      const f32 most = add_parts<WARPS_K>([&](i32 w) { return sums[w][number]; },
                                          [&](i32 w) { return &results[w][number][segment * 8]; }, sum, v);
      if constexpr (CLUSTER > 1) {
#pragma unroll
        for (i32 i = 0; i < 8; i += 2) send(&inbox.eights[part][n / CLUSTER][i], n % CLUSTER, v[i], v[i + 1], sent);
        if (segment == 0)
#pragma unroll
          for (i32 rank = 0; rank < CLUSTER; ++rank) send(&inbox.sums[part][number], rank, most, sum, sent);
      } else {
        finish(row_at(number), segment, most, sum, v);
      }
    }
    if constexpr (CLUSTER > 1) {
      tcc_cuda_await(sent);
#pragma unroll 1
      for (i32 n = part + CLUSTER * thread; n < SENT_ROWS * SEGMENTS; n += CLUSTER * THREADS) {
        const i32 number = n / SEGMENTS, segment = n % SEGMENTS;
        if (!row_at(number).exists) continue;
        f32 sum, v[8];
        const f32 most = add_parts<CLUSTER>([&](i32 w) { return inbox.sums[w][number]; },
                                            [&](i32 w) { return inbox.eights[w][n / CLUSTER]; }, sum, v);
        finish(row_at(number), segment, most, sum, v);
      }
    }
  }
}
