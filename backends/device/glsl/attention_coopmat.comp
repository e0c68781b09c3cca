// Attention on cooperative matrices (GL_KHR_cooperative_matrix): out[query] = sum over keys of softmax(score(query .
// key)) * value, per batch, in one pass over the keys.
//
// A workgroup has BLOCK_Q rows. A subgroup has some of them and, of each tile of BLOCK_K keys, all or its share.
// Scores and results stay in accumulators, and scores become weights where they are. Weights become operands of the
// second product in registers where the device has conversions, else they pass through shared memory as 16-bit
// elements. Weights are relative to a reference of each row, in a matrix whose elements have the rows of the scores';
// no score is more than GROWTH binary orders above it. Results are rescaled when one is: rarely, but for the first
// tile. Which elements of a matrix a thread has is not known before the kernel runs: where masks ask for it, a matrix
// of places, loaded from shared memory, says it. Where masks load numbers, or scores are not only scaled, scores pass
// through shared memory to the hooks and back. With params_pairs it is known, and hooks change scores and weights where
// these are.
//
// Tiles of keys and of values have one slot each, or two. With one, keys come in registers while scores are computed,
// and values while weights are multiplied; with two, both come during a whole tile, and there is one barrier. Keys are
// walked from the last to the first. Subgroups that share keys meet at the end; workgroups that do store parts.
//
// Defines: params_NAME, the members of an AttentionCoopmat, and params_sizes_NAME, those of its AttentionCoopmatSizes
// (common/attention_coopmat_shape.h); X_BUFFER, IN_STEP; SIZE_NAME, of sizes that come at run time. Hooks (scheduler/templates/attention_hooks.h has their meaning), of an operand
// x by how it is loaded:
//   tiles     chunk_x(batch); of rows that lie apart, row_x(batch, row)
//   computed  load_x(batch, row, d, v)
// and
//   score(batch, query, key, v), score_inside    of params_score_keys neighbouring keys; the latter unless params_plain. With
//                                                one key, scores are masked where they are. With params_pairs they
//                                                have the arguments of tile.holds in the place of these; params_held
//                                                and params_held_inside words are what hold_score and hold_inside load
//   weight(batch, query, key, v)                 changes weights of params_weights neighbouring keys, where not 0
//   key_range(batch, tile, range)                with params_by_query, of a query in the place of the tile
//   epilogue(batch, row, part, acc)              of 8 neighbouring columns
//   store_sum(batch, row, v)                     with params_sums
// With params_parts > 1 there are, in the place of the last two, store_part and store_part_sums (attention_parts.h).
#ifndef params_block_q  // compiled after the prelude alone, with default parameters and hooks that do the least
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#define Load_tiles 0
#define Load_computed 1
#define Element_bf16 0
#define Element_f16 1
#define Element_i8 4
#define Element_u8 5
#define params_batches 16
#define params_queries 4096
#define params_keys 4096
#define params_depth 64
#define params_depth_v 64
#define params_element Element_f16
#define params_q_load Load_tiles
#define params_q_vector 8
#define params_q_stride 64
#define params_q_apart 0
#define params_k_load Load_tiles
#define params_k_vector 8
#define params_k_stride 64
#define params_k_apart 0
#define params_v_load Load_tiles
#define params_v_vector 8
#define params_v_stride 64
#define params_v_apart 0
#define params_scale_bits 0x3e38aa3b  // log2(e) / sqrt(64)
#define params_plain 1
#define params_safe 0
#define params_sums 0
#define params_weights 0
#define params_by_query 0
#define params_block_q 128
#define params_block_k 64
#define params_subgroups_q 4
#define params_subgroups_k 1
#define params_subgroup 32
#define params_unit_m 16
#define params_unit_n 16
#define params_unit_k 16
#define params_keeps 1
#define params_stages 1
#define params_converts 0
#define params_score_keys 4
#define params_pairs 0
#define params_ahead 0
#define params_small_bits 0
#define params_held 0
#define params_held_inside 0
#define params_staged 4
#define params_parts 1
#define params_pack 1
#define params_orders 0
#define params_heads 1
#define params_sizes_rows 32
#define params_sizes_keys 64
#define params_sizes_columns 64
#define params_sizes_columns_v 64
#define params_sizes_packs 16
#define params_sizes_query_tiles 32
#define params_sizes_pitch_k 9
#define params_sizes_pitch_v 9
#define params_sizes_pitch_p 9
#define params_sizes_pitch_s 17
#define params_sizes_pitch_unit 4
#define params_sizes_pitch_o 17
#define params_sizes_v_at 576
#define params_sizes_slot 1152
#define params_sizes_areas_at 1152
#define params_sizes_area 416
#define params_sizes_q_at 0
#define params_sizes_words 2816
#define Q_BUFFER b0
#define K_BUFFER b1
#define V_BUFFER b2
#define IN_STEP 0
#define WORKGROUP 128
#define GRID 512
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID)
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; Floats b3; };
layout(local_size_x = WORKGROUP) in;
f32 tcc_inf_f32() { return tcc_bits_f32(0x7f800000u); }
f32 tcc_nan_f32() { return tcc_bits_f32(0x7fc00000u); }
f32 tcc_log_f32(f32 x) { return log(x); }
i32 chunk_q(i32 batch) { return batch * (4096 * 8); }
i32 chunk_k(i32 batch) { return batch * (4096 * 8); }
i32 chunk_v(i32 batch) { return batch * (4096 * 8); }
void score(i32 batch, i32 query, i32 key, inout f32 v[4]) {}
void key_range(i32 batch, i32 tile, inout i32 range[4]) {
  range[0] = range[2] = 0;
  range[1] = range[3] = 4096;
}
void epilogue(i32 batch, i32 row, i32 part, in f32 acc[8]) {
  for (i32 i = 0; i < 8; ++i) b3.v[(batch * 4096 + row) * 64 + part * 8 + i] = acc[i];
}
#endif

#define ACC f32
#define ELEMENT params_element
#define WORD_BYTES 16
#define TILE_WORDS params_sizes_words
#define THREADS WORKGROUP
#include "coopmat.inc"

// Rounds two weights to a word, or one to a number that a conversion keeps: those to bf16 may cut bits off, as NVIDIA's
// driver 580 does. No weight is a NaN that matters: the sum of their row is one, too.
#if params_element == Element_bf16
#define ROUND_WEIGHT(x) uintBitsToFloat(floatBitsToUint(x) + 0x8000u & 0xffff0000u)
#define PACK_WEIGHTS(low, high) (floatBitsToUint(ROUND_WEIGHT(low)) >> 16 | floatBitsToUint(ROUND_WEIGHT(high)))
#else
#define ROUND_WEIGHT(x) (x)
#define PACK_WEIGHTS(low, high) packFloat2x16(f16vec2(low, high))
#endif

#define BLOCK_Q params_block_q
#define BLOCK_K params_block_k
#define SUBGROUPS_Q params_subgroups_q
#define SUBGROUPS_K params_subgroups_k
#define UNIT_M params_unit_m
#define UNIT_N params_unit_n
#define UNIT_K params_unit_k
#define ROWS params_sizes_rows
#define KEYS params_sizes_keys
#define COLUMNS params_sizes_columns
#define COLUMNS_V params_sizes_columns_v
// The same in units.
#define TALL (ROWS / UNIT_M)
#define WIDE (KEYS / UNIT_N)
#define WIDE_V (COLUMNS_V / UNIT_N)
#define STEPS (COLUMNS / UNIT_K)
#define STEPS_V (KEYS / UNIT_K)
// Sizes that come at run time are numbers which the kernel gets; `params` has 0 for them.
#ifndef SIZE_BATCHES
#define SIZE_BATCHES params_batches
#endif
#ifndef SIZE_QUERIES
#define SIZE_QUERIES params_queries
#endif
#ifndef SIZE_KEYS
#define SIZE_KEYS params_keys
#endif
#if params_sizes_packs == 0
#define PACKS (SIZE_BATCHES / params_pack)
#else
#define PACKS params_sizes_packs
#endif
#if params_sizes_query_tiles == 0
#define QUERY_TILES ((SIZE_QUERIES + BLOCK_Q - 1) / BLOCK_Q)
#else
#define QUERY_TILES params_sizes_query_tiles
#endif
#define SCALE intBitsToFloat(params_scale_bits)
#if params_weights != 0 && params_element == Element_f16
#define GROWTH 0.0  // changed weights have no room above 1
#else
#define GROWTH 8.0
#endif

// Pitches and places in shared memory.
#define K_PITCH params_sizes_pitch_k
#define V_PITCH params_sizes_pitch_v
#define P_PITCH params_sizes_pitch_p
#define S_PITCH params_sizes_pitch_s
#define UNIT_PITCH params_sizes_pitch_unit
#define O_PITCH params_sizes_pitch_o
#define V_AT params_sizes_v_at
#define SLOT_WORDS params_sizes_slot
#define AREAS_AT params_sizes_areas_at
#define AREA params_sizes_area
#define Q_AT params_sizes_q_at
// A row has, for each of the subgroups that share its keys, -inf until it has seen a key, and at the end its reference
// and the sum of its weights.
shared f32 row_zero[BLOCK_Q * SUBGROUPS_K];
shared f32 row_sum[BLOCK_Q * SUBGROUPS_K];
#if params_by_query
shared i32 bounds[4];  // of the keys that the rows see
#endif

// fetch_x(base, batch, row, chunk): 8 elements of a row. Rows past the end repeat the last one, elements past the
// depth are zeros.
#define KEY(row) (params_keys != 0 && params_keys % BLOCK_K == 0 ? (row) : LEAST(row, SIZE_KEYS - 1))
#define TILES_FETCH(fetch, buffer, in_rows, depth, columns, stride)                                                \
  uvec4 fetch(i32 base, i32 batch, i32 row, i32 chunk) {                                                           \
    const i32 chunks = (depth) / CHUNK;                                                                            \
    const bool is_whole = (depth) == (columns);                                                                    \
    uvec4 bits = Chunks(buffer).v[base + (in_rows) * ((stride) / 8) + (is_whole ? chunk : LEAST(chunk, chunks - 1))]; \
    return is_whole || chunk < chunks ? bits : uvec4(0);                                                           \
  }
#define APART_FETCH(fetch, buffer, begin, depth)                                                              \
  uvec4 fetch(i32 base, i32 batch, i32 row, i32 chunk) {                                                      \
    const i32 chunks = (depth) / CHUNK;                                                                         \
    uvec4 bits = Chunks(buffer).v[i32(begin(TCC_BUFFERS batch, row) / 8) + LEAST(chunk, chunks - 1)];         \
    return chunk < chunks ? bits : uvec4(0);                                                                  \
  }
#define COMPUTED_FETCH(fetch, load, vector)                                                       \
  uvec4 fetch(i32 base, i32 batch, i32 row, i32 chunk) {                                          \
    uvec4 bits[1];                                                                                \
    COMPUTE_CHUNKS(bits, CHUNK, vector, load, row, chunk * (CHUNK / (vector)) + i / (vector))     \
    return bits[0];                                                                               \
  }
#if params_q_load == Load_tiles && params_q_apart
APART_FETCH(fetch_q, Q_BUFFER, row_q, params_depth)
#define Q_BASE(batch) 0
#elif params_q_load == Load_tiles
TILES_FETCH(fetch_q, Q_BUFFER, LEAST(row, SIZE_QUERIES - 1), params_depth, COLUMNS, params_q_stride)
#define Q_BASE(batch) chunk_q(TCC_BUFFERS batch)
#else
COMPUTED_FETCH(fetch_q, load_q, params_q_vector)
#define Q_BASE(batch) 0
#endif
// Keys that lie apart: their places, as numbers of chunks, are in shared memory before their tile is loaded. A load that
// waits for its place would wait twice, and threads that share a row would all look for it.
#define K_APART (params_k_load == Load_tiles && params_k_apart)
#define V_APART (params_v_load == Load_tiles && params_v_apart)
#define PLACED_FETCH(fetch, buffer, depth)                                   \
  uvec4 fetch(i32 place, i32 chunk) {                                        \
    const i32 chunks = (depth) / CHUNK;                                      \
    uvec4 bits = Chunks(buffer).v[place + LEAST(chunk, chunks - 1)];         \
    return chunk < chunks ? bits : uvec4(0);                                 \
  }
#if K_APART
shared i32 places_k[2][BLOCK_K];
PLACED_FETCH(fetch_k, K_BUFFER, params_depth)
#define K_BASE(batch) 0
#elif params_k_load == Load_tiles
TILES_FETCH(fetch_k, K_BUFFER, KEY(row), params_depth, COLUMNS, params_k_stride)
#define K_BASE(batch) chunk_k(TCC_BUFFERS batch)
#else
COMPUTED_FETCH(fetch_k, load_k, params_k_vector)
#define K_BASE(batch) 0
#endif
#if V_APART
shared i32 places_v[2][BLOCK_K];
PLACED_FETCH(fetch_v, V_BUFFER, params_depth_v)
#define V_BASE(batch) 0
#elif params_v_load == Load_tiles
TILES_FETCH(fetch_v, V_BUFFER, KEY(row), params_depth_v, COLUMNS_V, params_v_stride)
#define V_BASE(batch) chunk_v(TCC_BUFFERS batch)
#else
COMPUTED_FETCH(fetch_v, load_v, params_v_vector)
#define V_BASE(batch) 0
#endif

// A row of the workgroup's tile as the hooks know it. Rows past the end are others' that lie past the end.
#if params_pack == 1
#define BATCH_OF(row) batch0
#define QUERY_OF(row) (query0 + (row))
#define EXISTS(row) (params_queries != 0 && params_queries % BLOCK_Q == 0 || QUERY_OF(row) < SIZE_QUERIES)
#else
#define BATCH_OF(row) (batch0 + LEAST((row) / params_queries, params_pack - 1))
#define QUERY_OF(row) ((row) % params_queries)
#define EXISTS(row) ((row) < params_pack * params_queries)
#endif

// Some branches are those of a subgroup. llvmpipe takes a subgroup's barrier for the workgroup's; its lanes run in
// step (IN_STEP).
#if IN_STEP
#define SUBGROUP_BARRIER subgroupMemoryBarrierShared()
#else
#define SUBGROUP_BARRIER subgroupBarrier()
#endif

#define SUMS MATRIX_SUMS(f32)
#define ELEMENTS i32(zeros[0].length())
#if params_pairs
// Elements of sums lie as those of A do. Pair p, elements 2 p and 2 p + 1, is so far from a thread's first row, and so
// many pairs from its first column.
#define PAIRS 4
#define ROW_OF_PAIR(p) ((p) / 2 * 8)
#define COLUMN_OF_PAIR(p) ((p) % 2 * 4)
#define FIRST_ROW (lane / 4)
#define FIRST_PAIR (lane % 4)
#define ROW_OF(e) (FIRST_ROW + ROW_OF_PAIR((e) / 2))
#define COLUMN_OF(e) (2 * (FIRST_PAIR + COLUMN_OF_PAIR((e) / 2)) + (e) % 2)
#else
#define ROW_OF(e) i32(floatBitsToUint(places[e]) >> 8 & 255u)
#define COLUMN_OF(e) i32(floatBitsToUint(places[e]) & 255u)
#endif

// Each pair of scores of a thread, as hooks are told its place. PAIR_NUMBER is its number.
#if params_pairs
#define EACH_PAIR                                   \
  [[unroll]] for (i32 i = 0; i < TALL; ++i)         \
    [[unroll]] for (i32 p = 0; p < PAIRS; ++p)      \
      [[unroll]] for (i32 j = 0; j < WIDE; ++j)
#define PAIR_NUMBER ((i * PAIRS + p) * WIDE + j)
#define FIRST_ROW_OF_UNIT (subgroup_q * ROWS + i * UNIT_M + FIRST_ROW)
#if params_pack == 1
#define PAIR_BATCH batch0
#define PAIR_ROW QUERY_OF(FIRST_ROW_OF_UNIT), ROW_OF_PAIR(p)
#else
#define PAIR_BATCH BATCH_OF(FIRST_ROW_OF_UNIT + ROW_OF_PAIR(p))
#define PAIR_ROW QUERY_OF(FIRST_ROW_OF_UNIT + ROW_OF_PAIR(p)), 0
#endif
#define PAIR_COLUMN (j * (UNIT_N / 2) + COLUMN_OF_PAIR(p))
#define PAIR_PLACE PAIR_BATCH, PAIR_ROW, pair0, PAIR_COLUMN
#if params_held > params_held_inside
#define HELD params_held
#else
#define HELD params_held_inside
#endif
#if params_held > 0
#define HELD_FOR_SCORE(pair) held[pair],
#else
#define HELD_FOR_SCORE(pair)
#endif
#if params_held_inside > 0
#define HELD_FOR_INSIDE(pair) held[pair],
#else
#define HELD_FOR_INSIDE(pair)
#endif
#if params_small_bits != 0
#define SMALL(is_small) is_small,
#else
#define SMALL(is_small)
#endif
// Loads what the hooks of a tile's scores read.
#if params_held_inside > 0
#define HOLD_INSIDE EACH_PAIR hold_inside(TCC_BUFFERS PAIR_PLACE, held[PAIR_NUMBER]);
#else
#define HOLD_INSIDE
#endif
#if params_held > 0
#define HOLD_OTHERS EACH_PAIR hold_score(TCC_BUFFERS PAIR_PLACE, held[PAIR_NUMBER]);
#else
#define HOLD_OTHERS
#endif
#define HOLD                                          \
  if (params_held_inside > 0 && is_inside) {          \
    HOLD_INSIDE                                       \
  }                                                   \
  if (params_held > 0 && !is_inside) {                \
    HOLD_OTHERS                                       \
  }
#define SCORE_PAIRS(hook, is_small, held_for)                                       \
  EACH_PAIR {                                                                       \
    f32 v[2];                                                                       \
    v[0] = s[i][j][2 * p];                                                          \
    v[1] = s[i][j][2 * p + 1];                                                      \
    hook(TCC_BUFFERS PAIR_PLACE, SMALL(is_small) held_for(PAIR_NUMBER) v);          \
    s[i][j][2 * p] = v[0];                                                          \
    s[i][j][2 * p + 1] = v[1];                                                      \
  }
#if params_plain
#define SCORE_TILE(is_small) SCORE_PAIRS(score, is_small, HELD_FOR_SCORE)
#else
#define SCORE_TILE(is_small)                             \
  if (is_inside) {                                       \
    SCORE_PAIRS(score_inside, is_small, HELD_FOR_INSIDE) \
  } else {                                               \
    SCORE_PAIRS(score, is_small, HELD_FOR_SCORE)         \
  }
#endif
#endif

TCC_ENTRY {
  i32 thread = i32(TCC_THREAD), subgroup = i32(gl_SubgroupID), lane = i32(gl_SubgroupInvocationID);
  INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  // Keys and values of heads that are walked together stay in L2. Where tiles differ in length, the last ones come
  // first.
  i32 part = i32(block % params_parts), number = i32(block / params_parts);
  i32 pack0 = number / (params_heads * QUERY_TILES) * params_heads;
  i32 together = LEAST(PACKS - pack0, params_heads), in_section = number % (params_heads * QUERY_TILES);
  i32 tile_q = params_orders != 0 ? QUERY_TILES - 1 - in_section / together : in_section / together;
  i32 batch0 = (pack0 + in_section % together) * params_pack, query0 = tile_q * BLOCK_Q;
  i32 subgroup_q = subgroup / SUBGROUPS_K, subgroup_k = subgroup % SUBGROUPS_K;
  i32 area = AREAS_AT + subgroup * AREA;
  i32 stats = subgroup_k * BLOCK_Q + subgroup_q * ROWS;  // of the subgroup's first row

  // Tiles [first, end) are seen by some query, and all queries see all keys of [inside, inside_end).
#if params_by_query
  if (thread == 0) {
    bounds[0] = bounds[3] = SIZE_KEYS;
    bounds[1] = bounds[2] = 0;
  }
  barrier();
  [[dont_unroll]] for (i32 row = thread; row < BLOCK_Q; row += WORKGROUP)
    if (EXISTS(row)) {
      i32 range[4];
      key_range(TCC_BUFFERS BATCH_OF(row), QUERY_OF(row), range);
      if (range[0] < range[1]) {  // a query that sees no key bounds nothing
        atomicMin(bounds[0], range[0]);
        atomicMax(bounds[1], range[1]);
      }
      atomicMax(bounds[2], range[2]);
      atomicMin(bounds[3], range[3]);
    }
  barrier();
  i32 first = bounds[0], end = bounds[1], inside = bounds[2], inside_end = bounds[3];
#else
  i32 first = SIZE_KEYS, end = 0, inside = 0, inside_end = SIZE_KEYS;
  [[dont_unroll]] for (i32 i = 0; i < params_pack; ++i) {
    i32 range[4];
    key_range(TCC_BUFFERS batch0 + i, tile_q, range);
    first = min(first, range[0]);
    end = max(end, range[1]);
    inside = max(inside, range[2]);
    inside_end = min(inside_end, range[3]);
  }
#endif
  first /= BLOCK_K;
  end = (end + BLOCK_K - 1) / BLOCK_K;
  inside = (inside + BLOCK_K - 1) / BLOCK_K;
  inside_end /= BLOCK_K;
#if params_parts > 1
  i32 share = (end - first + params_parts - 1) / params_parts;
  first += part * share;
  end = min(first + share, end);
#endif

  // Elements of a matrix of places say their row and column in the bits of ordinary numbers.
#define PUT_PLACES(at, first, threads)                                              \
  for (i32 n = (first); n < UNIT_M * UNIT_N / 4; n += (threads)) {                  \
    u32 row = u32(n / (UNIT_N / 4)), column = u32(n % (UNIT_N / 4) * 4);            \
    tiles[(at) + n] = uvec4(0x3f800000u | row << 8 | column) + uvec4(0, 1, 2, 3);   \
  }
  for (i32 n = thread; n < BLOCK_Q * SUBGROUPS_K; n += WORKGROUP) {
    row_zero[n] = -tcc_inf_f32();
    row_sum[n] = 0.0;
  }
#if params_pairs
  const bool has_pairs = params_weights == 0;
#elif !params_converts
  PUT_PLACES(0, thread, WORKGROUP)
  barrier();
  SUMS places;
  coopMatLoad(places, tiles, 0, UNIT_N / 4, gl_CooperativeMatrixLayoutRowMajor);
  // Whether a thread has pairs of neighbours of a row, which are one word of weights.
  bool has_pairs = places.length() % 2 == 0;
  [[unroll]] for (i32 e = 0; e + 1 < places.length(); e += 2)
    has_pairs = has_pairs && floatBitsToUint(places[e]) + 1u == floatBitsToUint(places[e + 1]) && COLUMN_OF(e) % 2 == 0;
  has_pairs = params_weights == 0 && subgroupAll(has_pairs);
#endif
  barrier();

  for (i32 n = thread; n < BLOCK_Q * (COLUMNS / CHUNK); n += WORKGROUP) {
    i32 row = n / (COLUMNS / CHUNK), chunk = n % (COLUMNS / CHUNK);
    put(Q_AT + row * K_PITCH + chunk, fetch_q(Q_BASE(BATCH_OF(row)), BATCH_OF(row), QUERY_OF(row), chunk));
  }
#define READ_Q(a, i, step)                                                                                     \
  coopMatLoad(a, tiles, Q_AT + (subgroup_q * ROWS + (i) * UNIT_M) * K_PITCH + (step) * (UNIT_K / 8), K_PITCH, \
              gl_CooperativeMatrixLayoutRowMajor)
#if params_keeps
  barrier();
  MATRIX_A(TYPE) q[TALL][STEPS];
  [[unroll]] for (i32 i = 0; i < TALL; ++i)
    [[unroll]] for (i32 step = 0; step < STEPS; ++step) READ_Q(q[i][step], i, step);
  barrier();
#define QUERIES_OF(i, step) q[i][step]
#else
#define QUERIES_OF(i, step) a[i]
#endif
#if params_converts
#define WEIGHTS_OF(i, step) p[i][step]
#else
#define WEIGHTS_OF(i, step) a[i]
#define P_PIECES (UNIT_M * (KEYS / 8))
#define P_ROUNDS ((P_PIECES + params_subgroup - 1) / params_subgroup)
#endif
  // The threads of a subgroup take turns at the rows of a matrix.
#define ROW_ROUNDS ((UNIT_M + params_subgroup - 1) / params_subgroup)
#define EACH_ROW                                      \
  [[unroll]] for (i32 r = 0; r < ROW_ROUNDS; ++r)     \
    if (UNIT_M % params_subgroup == 0 || ROW < UNIT_M)
#define ROW (lane + r * params_subgroup)

  SUMS o[TALL][WIDE_V];
  SUMS sum[TALL];    // of weights, of those keys that are in an element's column of their matrix
  SUMS zeros[TALL];  // the references of rows, in binary orders
  f32 growth = -tcc_inf_f32();  // of scores over their references that changes these; any, while a row has seen no key
  [[unroll]] for (i32 i = 0; i < TALL; ++i) {
    sum[i] = zeros[i] = SUMS(0.0);
    [[unroll]] for (i32 d = 0; d < WIDE_V; ++d) o[i][d] = SUMS(0.0);
  }

#define K_PIECES (BLOCK_K * (COLUMNS / CHUNK))
#define V_PIECES (BLOCK_K * (COLUMNS_V / CHUNK))
  // Tiles are asked for behind the last one, too, which then comes again: `at` may be one or two less than `first`.
#define TILE_AT(at) MOST(at, first)
#if K_APART
#define FETCH_K(at)    \
  EACH_PIECE(K_PIECES) \
  next_k[r] = fetch_k(places_k[(at) & 1][PIECE / (COLUMNS / CHUNK)], PIECE % (COLUMNS / CHUNK));
#define FIND_K(at) EACH_PIECE(BLOCK_K) found_k[r] = i32(row_k(TCC_BUFFERS batch0, TILE_AT(at) * BLOCK_K + PIECE) / 8);
#define PLACE_K(at) EACH_PIECE(BLOCK_K) places_k[(at) & 1][PIECE] = found_k[r];
#else
#define FETCH_K(at)    \
  EACH_PIECE(K_PIECES) \
  next_k[r] = fetch_k(base_k, batch0, TILE_AT(at) * BLOCK_K + PIECE / (COLUMNS / CHUNK), PIECE % (COLUMNS / CHUNK));
#define FIND_K(at)
#define PLACE_K(at)
#endif
#define PUT_K(slot)    \
  EACH_PIECE(K_PIECES) \
  put((slot) + PIECE / (COLUMNS / CHUNK) * K_PITCH + PIECE % (COLUMNS / CHUNK), next_k[r]);
#if V_APART
#define FETCH_V(at)    \
  EACH_PIECE(V_PIECES) \
  next_v[r] = fetch_v(places_v[(at) & 1][PIECE / (COLUMNS_V / CHUNK)], PIECE % (COLUMNS_V / CHUNK));
#define FIND_V(at) EACH_PIECE(BLOCK_K) found_v[r] = i32(row_v(TCC_BUFFERS batch0, TILE_AT(at) * BLOCK_K + PIECE) / 8);
#define PLACE_V(at) EACH_PIECE(BLOCK_K) places_v[(at) & 1][PIECE] = found_v[r];
#else
#define FETCH_V(at)    \
  EACH_PIECE(V_PIECES) \
  next_v[r] = fetch_v(base_v, batch0, TILE_AT(at) * BLOCK_K + PIECE / (COLUMNS_V / CHUNK), PIECE % (COLUMNS_V / CHUNK));
#define FIND_V(at)
#define PLACE_V(at)
#endif
#define PUT_V(slot)    \
  EACH_PIECE(V_PIECES) \
  put((slot) + V_AT + PIECE / (COLUMNS_V / CHUNK) * V_PITCH + PIECE % (COLUMNS_V / CHUNK), next_v[r]);

  if (first < end) {
    i32 base_k = K_BASE(batch0), base_v = V_BASE(batch0);
    uvec4 next_k[ROUNDS(K_PIECES)], next_v[ROUNDS(V_PIECES)];
#if K_APART || V_APART
    i32 found_k[ROUNDS(BLOCK_K)], found_v[ROUNDS(BLOCK_K)];
    [[unroll]] for (i32 ahead = 1; ahead <= 2; ++ahead) {
      FIND_K(end - ahead)
      FIND_V(end - ahead)
      PLACE_K(end - ahead)
      PLACE_V(end - ahead)
    }
    barrier();
#endif
    FETCH_K(end - 1)
    PUT_K(0)
    FETCH_V(end - 1)
#if params_stages == 1
#define SLOT_AT 0
    [[dont_unroll]] for (i32 tile = end - 1; tile >= first; --tile) {
#include "attention_coopmat_tile.body"
    }
#else
    PUT_V(0)
    barrier();
    // Places in slots are constants.
    [[dont_unroll]] for (i32 tile = end - 1; tile >= first; --tile) {
      {
#define SLOT_AT 0
#define NEXT_AT SLOT_WORDS
#include "attention_coopmat_tile.body"
#undef SLOT_AT
#undef NEXT_AT
      }
      if (--tile < first) break;
      {
#define SLOT_AT SLOT_WORDS
#define NEXT_AT 0
#include "attention_coopmat_tile.body"
      }
    }
#endif
  }

  // Sums of a row over the columns of their matrix, and its reference.
  [[unroll]] for (i32 i = 0; i < TALL; ++i) {
    SUBGROUP_BARRIER;
    coopMatStore(sum[i], tiles, area, UNIT_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    SUBGROUP_BARRIER;
    EACH_ROW {
      f32 total = 0.0;
      [[unroll]] for (i32 c = 0; c < UNIT_N / 4; ++c) {
        vec4 four = uintBitsToFloat(tiles[area + ROW * UNIT_PITCH + c]);
        total += four.x + four.y + (four.z + four.w);
      }
      row_sum[stats + i * UNIT_M + ROW] = total;
    }
    SUBGROUP_BARRIER;
    coopMatStore(zeros[i], tiles, area, UNIT_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    SUBGROUP_BARRIER;
    EACH_ROW row_zero[stats + i * UNIT_M + ROW] += uintBitsToFloat(tiles[area + ROW * UNIT_PITCH].x);
  }

  // Results pass to the epilogue through shared memory, some columns of a row of each subgroup's units at a time.
#define SEGMENTS (params_staged * UNIT_N / 8)
  // One loop: compilers that do not unroll it for the loop inside, as NVIDIA's does not with two, index results, which
  // then lie in memory.
#define STAGES_OUT (WIDE_V / params_staged)
  [[unroll]] for (i32 n_out = 0; n_out < TALL * STAGES_OUT; ++n_out) {
    const i32 i = n_out / STAGES_OUT, d0 = n_out % STAGES_OUT * params_staged;
    barrier();
    [[unroll]] for (i32 d = 0; d < params_staged; ++d)
      coopMatStore(o[i][d0 + d], tiles, subgroup * UNIT_M * O_PITCH + d * (UNIT_N / 4), O_PITCH,
                   gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    [[dont_unroll]] for (i32 n = thread; n < SUBGROUPS_Q * UNIT_M * SEGMENTS; n += WORKGROUP) {
      i32 line = n / SEGMENTS, segment = n % SEGMENTS, of_q = line / UNIT_M;
      i32 row = of_q * ROWS + i * UNIT_M + line % UNIT_M;
      f32 most = row_zero[row], total = 0.0, acc[8];
      [[unroll]] for (i32 k = 1; k < SUBGROUPS_K; ++k) most = max(most, row_zero[k * BLOCK_Q + row]);
      [[unroll]] for (i32 c = 0; c < 8; ++c) acc[c] = 0.0;
      f32 zero = most == -tcc_inf_f32() ? 0.0 : most;
      [[unroll]] for (i32 k = 0; k < SUBGROUPS_K; ++k) {
        i32 at = ((of_q * SUBGROUPS_K + k) * UNIT_M + line % UNIT_M) * O_PITCH + segment * 2;
        vec4 low = uintBitsToFloat(tiles[at]), high = uintBitsToFloat(tiles[at + 1]);
        f32 factor = SUBGROUPS_K == 1 ? 1.0 : exp2(row_zero[k * BLOCK_Q + row] - zero);
        total = fma(row_sum[k * BLOCK_Q + row], factor, total);
        [[unroll]] for (i32 c = 0; c < 4; ++c) {
          acc[c] = fma(low[c], factor, acc[c]);
          acc[4 + c] = fma(high[c], factor, acc[4 + c]);
        }
      }
      i32 of_row = d0 * (UNIT_N / 8) + segment;
      if (EXISTS(row)) {
#if params_parts > 1
        i32 of_part = BATCH_OF(row) * params_parts + part;
        if (of_row == 0) {
          f32 values[2];
          values[0] = most * 0.693147181;
          values[1] = total;
          store_part_sums(TCC_BUFFERS of_part, QUERY_OF(row), values);
        }
        store_part(TCC_BUFFERS of_part, QUERY_OF(row), of_row, acc);
#else
        // A row that sees no key has no weights. One with a NaN has a sum of NaN.
#if params_sums
        if (of_row == 0) {
          bool is_infinite = most > 0.0 ? most == tcc_inf_f32() : total == 0.0;
          f32 values[1];
          values[0] = is_infinite ? most : fma(most, 0.693147181, tcc_log_f32(total));
          store_sum(TCC_BUFFERS BATCH_OF(row), QUERY_OF(row), values);
        }
#endif
        f32 inverse = 1.0 / total;
        [[unroll]] for (i32 c = 0; c < 8; ++c)
          acc[c] = total > 0.0 ? acc[c] * inverse : (params_safe != 0 ? 0.0 : tcc_nan_f32());
        epilogue(TCC_BUFFERS BATCH_OF(row), QUERY_OF(row), of_row, acc);
#endif
      }
    }
  }
}
