// Products with few rows: out[m, n] = sum over k of A[m, k] * B[k, n], per batch, of 1 to 8 rows for a workgroup.
// ../cuda/gemv.cu says how the work is divided and what the hooks are; `params` is a Gemv (common/gemv_shape.h).
//
// A warp is 32 neighbouring threads, which may be several subgroups or half of one. Sums over its lanes along k are
// exchanged by shuffles within a subgroup; the parts that are left are added up in shared memory, in a fixed order.
//
// B is loaded as chunks of 16 or 8 bytes of buffer B_BUFFER, chunk_b(batch, at, k) being the number of one, or computed by
// load_b(batch, at, k, v).
#ifndef params_block_m  // compiled after the prelude alone, with default parameters and hooks that do the least
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define Load_tiles 0
#define Load_computed 1
#define Element_bf16 0
#define Element_f16 1
#define Element_f32 3
#define params_product_n 4096
#define params_product_k 4096
#define params_product_m 1
#define params_product_batches 1
#define params_product_swapped 0
#define params_product_segment 1
#define params_product_a_vector 8
#define params_product_a_vector_along_k 1
#define params_product_b_load Load_tiles
#define params_product_b_element Element_f32
#define params_product_b_major_k 1
#define params_product_b_vector 4
#define params_rows_results 0
#define params_rows_stages 0
#define params_rows_parts 0
#define params_staged 0
#define params_block_m 1
#define params_columns 1
#define params_lanes_n 1
#define params_warps_n 1
#define params_warps_k 4
#define params_k_unit 4
#define params_unroll 2
#define params_subgroup 32
#define B_BUFFER b1
#define WORKGROUP 128
#define GRID 4096
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID)
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; };
layout(local_size_x = WORKGROUP) in;
i32 chunk_b(i32 batch, i32 at, i32 k) { return at * (params_product_k / 4) + k; }
void load_a(i32 batch, i32 at, i32 k, inout f32 v[8]) {
  for (i32 i = 0; i < 8; ++i) v[i] = b0.v[k * 8 + i];
}
void epilogue(i32 batch, i32 row, i32 part, in f32 acc[1]) { b2.v[part] = acc[0]; }
#endif

#define SIZE_N params_product_n
#define SIZE_K params_product_k
#define BLOCK_M params_block_m
#define COLUMNS params_columns
#define LANES_N params_lanes_n
#define LANES_K (32 / LANES_N)
#define WARPS_N params_warps_n
#define WARPS_K params_warps_k
#define K_UNIT params_k_unit
#define UNROLL params_unroll
#define SEGMENT params_product_segment
#define A_VECTOR params_product_a_vector
#define B_VECTOR params_product_b_vector
#define MAJOR_K (params_product_b_major_k != 0)
#define SWAPPED (params_product_swapped != 0)
#define BLOCK_COLUMNS (WARPS_N * LANES_N * COLUMNS)
#define BLOCKS_N ((SIZE_N + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS)
#ifndef BLOCKS_M
#define BLOCKS_M ((params_product_m + BLOCK_M - 1) / BLOCK_M)
#endif
#define UNITS ((SIZE_K + K_UNIT - 1) / K_UNIT)
#define UNIT_STEP (LANES_K * WARPS_K)
#define BLOCK_K (K_UNIT * UNIT_STEP * UNROLL)
#define STEPS ((UNITS + UNIT_STEP * UNROLL - 1) / (UNIT_STEP * UNROLL) * UNROLL)
#define OWN_K (STEPS * UNIT_STEP * K_UNIT)
#define RAGGED_K (SIZE_K % BLOCK_K != 0)
#define RAGGED_N (SIZE_N % BLOCK_COLUMNS != 0)
#if params_product_b_major_k
#define LOADS COLUMNS
#define LANE_STRIDE 1
#else
#define LOADS K_UNIT
#define LANE_STRIDE LANES_N
#endif

// Neighbours along k that exchange sums, and the parts of a warp that are left.
#define SUBGROUP (params_subgroup < 32 ? params_subgroup : 32)
#define REACH (SUBGROUP < LANE_STRIDE ? 1 : SUBGROUP / LANE_STRIDE < LANES_K ? SUBGROUP / LANE_STRIDE : LANES_K)
#define PARTS_K (LANES_K / REACH)

shared f32 partial[WARPS_K * PARTS_K * BLOCK_M * BLOCK_COLUMNS];
#if params_staged
shared f32 staged[BLOCK_M * OWN_K];
#endif

#if params_product_b_load == Load_computed
#define FETCHED f32
#define FETCHED_SIZE B_VECTOR
void fetch_vector(i32 batch, i32 column, i32 k, bool inside, inout f32 w[B_VECTOR]) {
  load_b(TCC_BUFFERS batch, MAJOR_K ? column : column / B_VECTOR, MAJOR_K ? k / B_VECTOR : k, w);
}
#define ELEMENT_OF(w, i) w[i]
#else
#if params_product_b_element == Element_f32
#define CHUNK_WORDS B_VECTOR
#define ELEMENT_OF(w, i) tcc_bits_f32(w[0][i])
#else
#define CHUNK_WORDS (B_VECTOR / 2)
#if params_product_b_element == Element_bf16
#define ELEMENT_OF(w, i) tcc_bits_f32((i) % 2 == 1 ? w[0][(i) / 2] & 0xffff0000u : w[0][(i) / 2] << 16)
#else
#define ELEMENT_OF(w, i) tcc_f16_to_f32((i) % 2 == 1 ? w[0][(i) / 2] >> 16 : w[0][(i) / 2] & 0xffffu)
#endif
#endif
#if CHUNK_WORDS == 4
#define FETCHED uvec4
#else
#define FETCHED uvec2
#endif
#define FETCHED_SIZE 1
layout(buffer_reference, std430, buffer_reference_align = CHUNK_WORDS * 4) restrict readonly buffer Vectors { FETCHED v[]; };
void fetch_vector(i32 batch, i32 column, i32 k, bool inside, inout FETCHED w[1]) {
  const i32 at = MAJOR_K ? column : column / B_VECTOR, k_vector = MAJOR_K ? k / B_VECTOR : k;
  w[0] = FETCHED(0);
  if (inside) w[0] = Vectors(B_BUFFER).v[chunk_b(TCC_BUFFERS batch, at, k_vector)];
}
#endif

// A vector of row `m` of the workgroup's; `rows` has the results of rows where elements are made with them.
#define ROW_OF_A(m) ((row0 + (m)) / (params_product_a_vector_along_k != 0 ? 1 : A_VECTOR))
#if params_rows_results > 0
#define RESULTS params_rows_results
#define LOAD_A(m, k, v)                                                      \
  {                                                                          \
    f32 of_row[RESULTS];                                                     \
    [[unroll]] for (i32 r = 0; r < RESULTS; ++r) of_row[r] = rows[(m) * RESULTS + r]; \
    load_a(TCC_BUFFERS batch, ROW_OF_A(m), k, of_row, v);                    \
  }
#define GROUPS (WORKGROUP / SUBGROUP)
shared f32 row_results[2 * GROUPS * BLOCK_M * RESULTS];

// Reduces the rows, stage by stage: threads their parts, then the lanes of a subgroup, then the subgroups.
void reduce_all_rows(i32 batch, i32 row0, i32 thread, inout f32 rows[BLOCK_M * RESULTS]) {
  f32 own[RESULTS];
  f32 other[RESULTS];
  start_rows(TCC_BUFFERS own);
  [[unroll]] for (i32 i = 0; i < BLOCK_M * RESULTS; ++i) rows[i] = own[i % RESULTS];
  [[unroll]] for (i32 stage = 0; stage < params_rows_stages; ++stage) {
    const i32 base = stage % 2 * GROUPS * BLOCK_M * RESULTS;
    [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) {
      [[unroll]] for (i32 r = 0; r < RESULTS; ++r) own[r] = rows[m * RESULTS + r];
      for (i32 part = thread; part < params_rows_parts; part += WORKGROUP)
        reduce_rows(TCC_BUFFERS batch, row0 + m, part, stage, own);
      [[unroll]] for (i32 distance = SUBGROUP / 2; distance > 0; distance /= 2) {
        [[unroll]] for (i32 r = 0; r < RESULTS; ++r) other[r] = subgroupShuffleXor(own[r], distance);
        combine_rows(TCC_BUFFERS stage, other, own);
      }
      if (thread % SUBGROUP == 0)
        [[unroll]] for (i32 r = 0; r < RESULTS; ++r)
          row_results[base + (thread / SUBGROUP * BLOCK_M + m) * RESULTS + r] = own[r];
    }
    barrier();
    [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) {
      [[unroll]] for (i32 r = 0; r < RESULTS; ++r) own[r] = row_results[base + m * RESULTS + r];
      [[dont_unroll]] for (i32 g = 1; g < GROUPS; ++g) {
        [[unroll]] for (i32 r = 0; r < RESULTS; ++r) other[r] = row_results[base + (g * BLOCK_M + m) * RESULTS + r];
        combine_rows(TCC_BUFFERS stage, other, own);
      }
      [[unroll]] for (i32 r = 0; r < RESULTS; ++r) rows[m * RESULTS + r] = own[r];
    }
  }
}
#else
#define LOAD_A(m, k, v) load_a(TCC_BUFFERS batch, ROW_OF_A(m), k, v);
#endif

// Segments along n of each row, or, swapped, along m of each column.
#if params_product_swapped
#define LINE BLOCK_M
#define LINES BLOCK_COLUMNS
#else
#define LINE BLOCK_COLUMNS
#define LINES BLOCK_M
#endif
#define PARTS ((LINE + SEGMENT - 1) / SEGMENT)

#define MULTIPLY(m, i, a)                                  \
  [[unroll]] for (i32 c = 0; c < COLUMNS; ++c)             \
    acc[m][c] = tcc_fma_f32(a, MAJOR_K ? x[MAJOR_K ? c : 0][MAJOR_K ? (i) : 0] : x[MAJOR_K ? 0 : (i)][MAJOR_K ? 0 : c], acc[m][c]);

#define FETCH(first)                                                                                   \
  [[unroll]] for (i32 u = 0; u < UNROLL; ++u) [[unroll]] for (i32 i = 0; i < LOADS; ++i) {             \
    const i32 column = col0 + lane_column + (MAJOR_K ? i : 0);                                         \
    const i32 k = ((first) + u * UNIT_STEP) * K_UNIT + (MAJOR_K ? 0 : i);                              \
    const bool inside = (!RAGGED_K || k < SIZE_K) && (!RAGGED_N || column < SIZE_N);                   \
    fetch_vector(batch, column, k, inside, b[u][i]);                                                   \
  }

TCC_ENTRY {
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32;
  const INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  // Neighbours share columns, so that they read B at once.
  const INDEX tile = block / BLOCKS_M;
  const i32 row0 = i32(block % BLOCKS_M) * BLOCK_M;
  const i32 batch = i32(tile / BLOCKS_N), col0 = i32(tile % BLOCKS_N) * BLOCK_COLUMNS;
  const i32 warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;
  const i32 lane_k = lane / LANE_STRIDE % LANES_K, lane_n = MAJOR_K ? lane / LANES_K : lane % LANES_N;
  const i32 lane_column = (warp_n * LANES_N + lane_n) * COLUMNS;

  FETCHED b[UNROLL][LOADS][FETCHED_SIZE];
  const i32 own_unit = warp_k * LANES_K + lane_k;
  i32 unit0 = own_unit;
  if (unit0 < UNITS) {
    FETCH(unit0)
  }

#if params_rows_results > 0
  f32 rows[BLOCK_M * RESULTS];
  reduce_all_rows(batch, row0, thread, rows);
#endif
#if params_staged
  {
#if params_product_a_vector_along_k
    for (i32 i = thread * A_VECTOR; i < OWN_K; i += WORKGROUP * A_VECTOR) [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) {
      f32 v[A_VECTOR];
      LOAD_A(m, i / A_VECTOR, v)
      [[unroll]] for (i32 j = 0; j < A_VECTOR; ++j) staged[m * OWN_K + i + j] = v[j];
    }
#else
    for (i32 i = thread; i < OWN_K; i += WORKGROUP) [[unroll]] for (i32 m = 0; m < BLOCK_M; m += A_VECTOR) {
      f32 v[A_VECTOR];
      LOAD_A(m, i, v)
      [[unroll]] for (i32 j = 0; j < A_VECTOR; ++j) staged[(m + j) * OWN_K + i] = v[j];
    }
#endif
  }
  barrier();
#endif

  f32 acc[BLOCK_M][COLUMNS];
  [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) acc[m][c] = 0.0;

  [[dont_unroll]] while (unit0 < UNITS) {
    [[unroll]] for (i32 u = 0; u < UNROLL; ++u) {
      const i32 unit = unit0 + u * UNIT_STEP;
      f32 x[LOADS][B_VECTOR];
      [[unroll]] for (i32 i = 0; i < LOADS; ++i) [[unroll]] for (i32 j = 0; j < B_VECTOR; ++j) x[i][j] = ELEMENT_OF(b[u][i], j);
#if params_staged
      [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) [[unroll]] for (i32 i = 0; i < K_UNIT; ++i) {
        const f32 a = staged[m * OWN_K + unit * K_UNIT + i];
        MULTIPLY(m, i, a)
      }
#elif params_product_a_vector_along_k
      [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) [[unroll]] for (i32 p = 0; p < K_UNIT / A_VECTOR; ++p) {
        f32 a[A_VECTOR];
        LOAD_A(m, unit * (K_UNIT / A_VECTOR) + p, a)
        [[unroll]] for (i32 v = 0; v < A_VECTOR; ++v) {
          MULTIPLY(m, p * A_VECTOR + v, a[v])
        }
      }
#else
      [[unroll]] for (i32 i = 0; i < K_UNIT; ++i) [[unroll]] for (i32 p = 0; p < BLOCK_M / A_VECTOR; ++p) {
        f32 a[A_VECTOR];
        LOAD_A(p * A_VECTOR, unit * K_UNIT + i, a)
        [[unroll]] for (i32 v = 0; v < A_VECTOR; ++v) {
          MULTIPLY(p * A_VECTOR + v, i, a[v])
        }
      }
#endif
    }
    unit0 += UNIT_STEP * UNROLL;
    if (unit0 < UNITS) {
      FETCH(unit0)
    }
  }

  [[unroll]] for (i32 m = 0; m < BLOCK_M; ++m) [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) {
    [[unroll]] for (i32 distance = REACH / 2; distance > 0; distance /= 2)
      acc[m][c] += subgroupShuffleXor(acc[m][c], distance * LANE_STRIDE);
    if (lane_k % REACH == 0)
      partial[((warp_k * PARTS_K + lane_k / REACH) * BLOCK_M + m) * BLOCK_COLUMNS + lane_column + c] = acc[m][c];
  }
  barrier();

  for (i32 n = thread; n < LINES * PARTS; n += WORKGROUP) {
    const i32 line = n / PARTS, part = n % PARTS;
    f32 segment[SEGMENT];
    [[unroll]] for (i32 i = 0; i < SEGMENT; ++i) {
      const i32 at = part * SEGMENT + i, m = SWAPPED ? at : line, column = SWAPPED ? line : at;
      segment[i] = 0.0;
      if (LINE % SEGMENT != 0 && at >= LINE) continue;
      [[unroll]] for (i32 w = 0; w < WARPS_K * PARTS_K; ++w)
        segment[i] += partial[(w * BLOCK_M + m) * BLOCK_COLUMNS + column];
    }
    epilogue(TCC_BUFFERS batch, SWAPPED ? col0 + line : row0 + line, (SWAPPED ? row0 : col0) / SEGMENT + part, segment);
  }
}
