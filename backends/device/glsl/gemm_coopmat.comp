// Matrix products on cooperative matrices (GL_KHR_cooperative_matrix): out[row, col] = sum over k of A[row, k] * B[k, col],
// per batch. Operands of 16 bits with sums in f32; bytes with sums in 32 bits.
//
// A workgroup computes a block_m x block_n tile, a subgroup (block_m / subgroups_m) x (block_n / subgroups_n) of it, by
// matrices of unit_m x unit_n x unit_k. Tiles of A and B go through shared memory. Threads load the next one into
// registers, 16 bytes at a time, before this one is multiplied, and store it after that: no register lives from one turn
// of the main loop to the next, which compilers would copy.
//
// Slices are groups of subgroups that have the same tile, and take turns at its tiles of k. Each has its place in shared
// memory, and their sums are added up on their way to the epilogue.
//
// Defines: params_NAME, the members of a GemmCoopmat (common/gemm_coopmat_shape.h), and what it says of them. Sizes that
// come at run time are SIZE_M, SIZE_N and SIZE_K, and then TILES is the number of workgroups with a tile. Hooks, by how an
// operand x is loaded:
//   tiles     chunk_x(batch, at, k): the number of the 16 bytes in buffer X_BUFFER
//   im2col    the same; where it is negative, a window is beyond the image: zeros. Where `vector` is half of 16 bytes, k
//             and the number count those
//   computed  load_x(batch, at, k, v): computes a vector of elements as accumulators; guards itself
// major_k: memory is contiguous along k; `at` is a row (of B: a column), `k` counts chunks or vectors. Otherwise it is
// contiguous along m (of B: n); `at` counts chunks or vectors, `k` is an element of k.
// epilogue(batch, row, part, acc) gets `segment` neighbouring columns from segment * part on, and guards itself; where
// swapped, neighbouring rows of column `row`: the operands have changed sides, so that results lie along m.
#ifndef params_block_m  // compiled after the prelude alone, with default parameters and hooks that do the least
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#define Load_tiles 0
#define Load_computed 1
#define Load_im2col 3
#define Element_bf16 0
#define Element_f16 1
#define Element_i8 4
#define Element_u8 5
#define Sum_f32 0
#define Sum_i32 1
#define Sum_u32 2
#define params_product_m 4096
#define params_product_n 4096
#define params_product_k 4096
#define params_product_a_load Load_tiles
#define params_product_a_element Element_f16
#define params_product_a_major_k 1
#define params_product_a_vector 8
#define params_product_b_load Load_tiles
#define params_product_b_element Element_f16
#define params_product_b_major_k 1
#define params_product_b_vector 8
#define params_product_sum Sum_f32
#define params_product_swapped 0
#define params_product_segment 8
#define params_block_m 128
#define params_block_n 128
#define params_block_k 32
#define params_subgroups_m 2
#define params_subgroups_n 2
#define params_subgroup 32
#define params_unit_m 16
#define params_unit_n 16
#define params_unit_k 16
#define params_unit_sum Sum_f32
#define params_stages 2
#define params_paired 0
#define params_slices 1
#define params_band 8
#define A_BUFFER b0
#define B_BUFFER b1
#define WORKGROUP 128
#define GRID 1024
#define SHARED_BYTES 40960
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID)
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; };
layout(local_size_x = WORKGROUP) in;
i32 chunk_a(i32 batch, i32 at, i32 k) { return at * (params_product_k / 8) + k; }
i32 chunk_b(i32 batch, i32 at, i32 k) { return at * (params_product_k / 8) + k; }
void epilogue(i32 batch, i32 row, i32 part, in f32 acc[8]) {
  for (i32 i = 0; i < 8; ++i) b2.v[row * params_product_n + part * 8 + i] = acc[i];
}
#endif

#if params_product_a_element == Element_i8 || params_product_a_element == Element_u8
#define ELEMENT_BYTES 1
#else
#define ELEMENT_BYTES 2
#endif
#if params_product_a_element == Element_bf16
#define A_TYPE bfloat16_t
#elif params_product_a_element == Element_f16
#define A_TYPE float16_t
#elif params_product_a_element == Element_i8
#define A_TYPE i8
#else
#define A_TYPE u8
#endif
#if params_product_b_element == Element_bf16
#define B_TYPE bfloat16_t
#elif params_product_b_element == Element_f16
#define B_TYPE float16_t
#elif params_product_b_element == Element_i8
#define B_TYPE i8
#else
#define B_TYPE u8
#endif
#if params_product_sum == Sum_f32
#define ACC f32
#elif params_product_sum == Sum_i32
#define ACC i32
#else
#define ACC u32
#endif
#if params_unit_sum == Sum_f32
#define UNIT_ACC f32
#define FROM_BITS(x) uintBitsToFloat(x)
#elif params_unit_sum == Sum_i32
#define UNIT_ACC i32
#define FROM_BITS(x) ACC(x)
#else
#define UNIT_ACC u32
#define FROM_BITS(x) ACC(x)
#endif

#define BLOCK_M params_block_m
#define BLOCK_N params_block_n
#define BLOCK_K params_block_k
#define UNIT_M params_unit_m
#define UNIT_N params_unit_n
#define UNIT_K params_unit_k
#define SUBGROUP_M (BLOCK_M / params_subgroups_m)
#define SUBGROUP_N (BLOCK_N / params_subgroups_n)
#define UNITS_M (SUBGROUP_M / UNIT_M)
#define UNITS_N (SUBGROUP_N / UNIT_N)
#define K_STEPS (BLOCK_K / UNIT_K)
// Sizes that come at run time are numbers which the kernel gets; `params` has 0 for them.
#ifndef SIZE_M
#define SIZE_M params_product_m
#endif
#ifndef SIZE_N
#define SIZE_N params_product_n
#endif
#ifndef SIZE_K
#define SIZE_K params_product_k
#endif
#ifdef TILES
#define TILE i32(block)
#else
#define TILE block
#define TILES GRID
#endif
// Whether tiles so long have a ragged one behind them.
#define RAGGED(constant, block) (constant == 0 || constant % (block) != 0)
#define TILES_M ((SIZE_M + BLOCK_M - 1) / BLOCK_M)
#define TILES_N ((SIZE_N + BLOCK_N - 1) / BLOCK_N)
// Elements of k that come in a turn, where loads of one operand bring two tiles or slices one each.
#define K_BROUGHT ((BLOCK_K << params_paired) * params_slices)
#define K_TURNS ((SIZE_K + K_BROUGHT - 1) / K_BROUGHT)
#define SEGMENT params_product_segment
#define LEAST(a, b) ((a) < (b) ? (a) : (b))

// Shared memory is words as long as the lines of a unit's matrices, 16 bytes or 8.
#if params_product_a_major_k
#define A_SIDE UNIT_K
#else
#define A_SIDE UNIT_M
#endif
#if params_product_b_major_k
#define B_SIDE UNIT_K
#else
#define B_SIDE UNIT_N
#endif
#if A_SIDE * ELEMENT_BYTES % 16 == 0 && B_SIDE * ELEMENT_BYTES % 16 == 0
#define WORD uvec4
#define WORD_BYTES 16
#else
#define WORD uvec2
#define WORD_BYTES 8
#endif
#define WORDS(elements) ((elements) * ELEMENT_BYTES / WORD_BYTES)
shared WORD tiles[SHARED_BYTES / WORD_BYTES];

void put(i32 at, uvec4 bits) {
#if WORD_BYTES == 16
  tiles[at] = bits;
#else
  tiles[at] = bits.xy;
  tiles[at + 1] = bits.zw;
#endif
}
u32 word_at(i32 number) {  // of 4 bytes
  return tiles[number / (WORD_BYTES / 4)][number % (WORD_BYTES / 4)];
}

// A tile has rows along the axis that is contiguous in memory, of whole chunks of 16 bytes. Their pitch is an odd number
// of chunks, so that neighbouring rows lie in different banks.
#define CHUNK (16 / ELEMENT_BYTES)
#define PITCH(columns) (((columns) / CHUNK | 1) * (16 / WORD_BYTES))
#if params_product_a_major_k
#define A_ROWS BLOCK_M
#define A_COLUMNS BLOCK_K
#else
#define A_ROWS BLOCK_K
#define A_COLUMNS BLOCK_M
#endif
#if params_product_b_major_k
#define B_ROWS BLOCK_N
#define B_COLUMNS BLOCK_K
#else
#define B_ROWS BLOCK_K
#define B_COLUMNS BLOCK_N
#endif
#define A_PITCH PITCH(A_COLUMNS)
#define B_PITCH PITCH(B_COLUMNS)
#define TILE_A (A_ROWS * A_PITCH)
#define TILE_B (B_ROWS * B_PITCH)
#define STAGE (TILE_A + TILE_B)
// Places of tiles: stages of both, or where paired two of A and one of B.
#if params_paired
#define A_AT(t) ((t) * TILE_A)
#define B_AT(t) (2 * TILE_A)
#else
#define A_AT(t) ((slice * STAGES + (t)) * STAGE)
#define B_AT(t) (A_AT(t) + TILE_A)
#endif

#define STAGES params_stages
#define SUBGROUPS (params_subgroups_m * params_subgroups_n)
#define SLICE_THREADS (WORKGROUP / params_slices)

// A thread brings pieces of a tile: chunks, or where a vector of the load hook is longer, vectors.
#define PIECE(load, vector) (load == Load_computed && vector > CHUNK ? vector : CHUNK)
#define A_PIECE PIECE(params_product_a_load, params_product_a_vector)
#define B_PIECE PIECE(params_product_b_load, params_product_b_vector)
#define A_PER_ROW (A_COLUMNS / A_PIECE)
#define B_PER_ROW (B_COLUMNS / B_PIECE)
#define A_PIECES (A_ROWS * A_PER_ROW)
#define B_PIECES (B_ROWS * B_PER_ROW)
#define A_STEPS ((A_PIECES + SLICE_THREADS - 1) / SLICE_THREADS)
#define B_STEPS ((B_PIECES + SLICE_THREADS - 1) / SLICE_THREADS)
#define A_LOADS (A_ROWS * 8 / WORKGROUP)  // of a thread, where paired
#define B_LOADS (B_ROWS * 8 / WORKGROUP)
#define A_CHUNKS (A_PIECE / CHUNK)
#define B_CHUNKS (B_PIECE / CHUNK)
// The row of pieces number n. Where a row has fewer than 8 of them, the 8 that neighbouring threads store at once are in
// rows whose places in the banks differ: the pitch is odd.
#define APART(per_row) (8 / LEAST(per_row, 8))
#define ROW_OF(n, per_row, rows)                                                                       \
  (8 % LEAST(per_row, 8) == 0 && (rows) % 8 == 0                                                       \
       ? (n) / (per_row) / 8 * 8 + (n) / (per_row) % APART(per_row) * (8 / APART(per_row)) +           \
             (n) / (per_row) % 8 / APART(per_row)                                                      \
       : (n) / (per_row))
#define A_ROW(n) ROW_OF(n, A_PER_ROW, A_ROWS)
#define B_ROW(n) ROW_OF(n, B_PER_ROW, B_ROWS)

layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer Chunks { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer Halves { uvec2 v[]; };

// Rounds computed elements to the operands' type.
#if ELEMENT_BYTES == 1
#define PACK(v, i)                                                                                            \
  ((u32(v[i]) & 255u) | (u32(v[(i) + 1]) & 255u) << 8 | (u32(v[(i) + 2]) & 255u) << 16 | u32(v[(i) + 3]) << 24)
#elif params_product_a_element == Element_bf16
#define PACK(v, i) tcc_pack_bf16(v[i], v[(i) + 1])
#else
#define PACK(v, i) tcc_pack_f16(v[i], v[(i) + 1])
#endif
#define PER_WORD (4 / ELEMENT_BYTES)

// fetch_x(batch, row, k, bits): the piece number k of the operand's line `row`, as chunks. Where lines are not along k,
// `row` is the number of the piece and k the line. Rows and columns past the end repeat others; elements past the end of k
// are zeros.
#if params_product_a_load == Load_im2col && params_product_a_vector < CHUNK
void fetch_a(i32 batch, i32 row, i32 k, inout uvec4 bits[A_CHUNKS]) {
  if (RAGGED(params_product_m, BLOCK_M)) row = LEAST(row, SIZE_M - 1);
  [[unroll]] for (i32 half_of = 0; half_of < 2; ++half_of) {
    i32 at = 2 * k + half_of;
    bool inside = !RAGGED(params_product_k, K_BROUGHT) || at < SIZE_K / params_product_a_vector;
    i32 number = chunk_a(TCC_BUFFERS batch, row, inside ? at : 0);
    inside = inside && number >= 0;
    uvec2 loaded = Halves(A_BUFFER).v[inside ? number : 0];
    if (!inside) loaded = uvec2(0);
    bits[0][2 * half_of] = loaded.x;
    bits[0][2 * half_of + 1] = loaded.y;
  }
}
#elif params_product_a_load != Load_computed
void fetch_a(i32 batch, i32 row, i32 k, inout uvec4 bits[A_CHUNKS]) {
  bool inside = true;
#if params_product_a_major_k
  if (RAGGED(params_product_k, K_BROUGHT)) inside = k < SIZE_K / CHUNK;
  if (RAGGED(params_product_m, BLOCK_M)) row = LEAST(row, SIZE_M - 1);
#else
  if (RAGGED(params_product_k, K_BROUGHT)) inside = k < SIZE_K;
  if (RAGGED(params_product_m, BLOCK_M)) row = LEAST(row, SIZE_M / CHUNK - 1);
#endif
  if (RAGGED(params_product_k, K_BROUGHT)) k = inside ? k : 0;
  i32 number = chunk_a(TCC_BUFFERS batch, row, k);
#if params_product_a_load == Load_im2col
  inside = inside && number >= 0;
  number = inside ? number : 0;
#endif
  bits[0] = Chunks(A_BUFFER).v[number];
  if (!inside) bits[0] = uvec4(0);
}
#else
void fetch_a(i32 batch, i32 row, i32 k, inout uvec4 bits[A_CHUNKS]) {
  ACC all[A_PIECE];
  [[unroll]] for (i32 i = 0; i < A_PIECE; i += params_product_a_vector) {
    ACC v[params_product_a_vector];
#if params_product_a_major_k
    load_a(TCC_BUFFERS batch, row, k * (A_PIECE / params_product_a_vector) + i / params_product_a_vector, v);
#else
    load_a(TCC_BUFFERS batch, row * (A_PIECE / params_product_a_vector) + i / params_product_a_vector, k, v);
#endif
    [[unroll]] for (i32 j = 0; j < params_product_a_vector; ++j) all[i + j] = v[j];
  }
  [[unroll]] for (i32 i = 0; i < A_PIECE / PER_WORD; ++i) bits[i / 4][i % 4] = PACK(all, i * PER_WORD);
}
#endif
#if params_product_b_load == Load_im2col && params_product_b_vector < CHUNK
void fetch_b(i32 batch, i32 row, i32 k, inout uvec4 bits[B_CHUNKS]) {
  if (RAGGED(params_product_n, BLOCK_N)) row = LEAST(row, SIZE_N - 1);
  [[unroll]] for (i32 half_of = 0; half_of < 2; ++half_of) {
    i32 at = 2 * k + half_of;
    bool inside = !RAGGED(params_product_k, K_BROUGHT) || at < SIZE_K / params_product_b_vector;
    i32 number = chunk_b(TCC_BUFFERS batch, row, inside ? at : 0);
    inside = inside && number >= 0;
    uvec2 loaded = Halves(B_BUFFER).v[inside ? number : 0];
    if (!inside) loaded = uvec2(0);
    bits[0][2 * half_of] = loaded.x;
    bits[0][2 * half_of + 1] = loaded.y;
  }
}
#elif params_product_b_load != Load_computed
void fetch_b(i32 batch, i32 row, i32 k, inout uvec4 bits[B_CHUNKS]) {
  bool inside = true;
#if params_product_b_major_k
  if (RAGGED(params_product_k, K_BROUGHT)) inside = k < SIZE_K / CHUNK;
  if (RAGGED(params_product_n, BLOCK_N)) row = LEAST(row, SIZE_N - 1);
#else
  if (RAGGED(params_product_k, K_BROUGHT)) inside = k < SIZE_K;
  if (RAGGED(params_product_n, BLOCK_N)) row = LEAST(row, SIZE_N / CHUNK - 1);
#endif
  if (RAGGED(params_product_k, K_BROUGHT)) k = inside ? k : 0;
  i32 number = chunk_b(TCC_BUFFERS batch, row, k);
#if params_product_b_load == Load_im2col
  inside = inside && number >= 0;
  number = inside ? number : 0;
#endif
  bits[0] = Chunks(B_BUFFER).v[number];
  if (!inside) bits[0] = uvec4(0);
}
#else
void fetch_b(i32 batch, i32 row, i32 k, inout uvec4 bits[B_CHUNKS]) {
  ACC all[B_PIECE];
  [[unroll]] for (i32 i = 0; i < B_PIECE; i += params_product_b_vector) {
    ACC v[params_product_b_vector];
#if params_product_b_major_k
    load_b(TCC_BUFFERS batch, row, k * (B_PIECE / params_product_b_vector) + i / params_product_b_vector, v);
#else
    load_b(TCC_BUFFERS batch, row * (B_PIECE / params_product_b_vector) + i / params_product_b_vector, k, v);
#endif
    [[unroll]] for (i32 j = 0; j < params_product_b_vector; ++j) all[i + j] = v[j];
  }
  [[unroll]] for (i32 i = 0; i < B_PIECE / PER_WORD; ++i) bits[i / 4][i % 4] = PACK(all, i * PER_WORD);
}
#endif

// Sums pass to the epilogue through shared memory, some lines of each subgroup at a time: rows, or where swapped columns.
#if params_product_swapped
#define SLABS UNITS_N
#define SLAB_LINES UNIT_N
#define LINE SUBGROUP_M
#else
#define SLABS UNITS_M
#define SLAB_LINES UNIT_M
#define LINE SUBGROUP_N
#endif
#define LINE_PITCH ((LINE + 4) * 4 / WORD_BYTES)
#define SLAB_WORDS (SLAB_LINES * LINE_PITCH)

TCC_ENTRY {
  i32 lane = i32(gl_SubgroupInvocationID);
#if params_slices == 1
  const i32 slice = 0;
  i32 thread = i32(TCC_THREAD), subgroup = i32(gl_SubgroupID);
#else
  i32 slice = i32(gl_SubgroupID) / SUBGROUPS;
  i32 thread = i32(TCC_THREAD) % SLICE_THREADS, subgroup = i32(gl_SubgroupID) % SUBGROUPS;
#endif
  INDEX block = INDEX(TCC_BLOCK);
  if (block >= TILES) return;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  i32 in_batch = i32(TILE % (TILES_M * TILES_N)), batch = i32(TILE / (TILES_M * TILES_N));
  i32 band_start = in_batch / (params_band * TILES_N) * params_band;
  i32 band_rows = LEAST(TILES_M - band_start, params_band);
  i32 in_band = in_batch % (params_band * TILES_N);
  i32 row0 = (band_start + in_band % band_rows) * BLOCK_M, col0 = in_band / band_rows * BLOCK_N;
  i32 subgroup_m = subgroup / params_subgroups_n * SUBGROUP_M, subgroup_n = subgroup % params_subgroups_n * SUBGROUP_N;

  coopmat<UNIT_ACC, gl_ScopeSubgroup, UNIT_M, UNIT_N, gl_MatrixUseAccumulator> acc[UNITS_M][UNITS_N];
  [[unroll]] for (i32 i = 0; i < UNITS_M; ++i)
    [[unroll]] for (i32 j = 0; j < UNITS_N; ++j)
      acc[i][j] = coopmat<UNIT_ACC, gl_ScopeSubgroup, UNIT_M, UNIT_N, gl_MatrixUseAccumulator>(UNIT_ACC(0));

#if params_paired
  // Eight threads bring a line of 128 bytes: the chunks of a row in two tiles of k. A thread's loads come in pairs, of which
  // one is in the first tile: threads of the other half of a line swap them. Their rows lie four apart, and so in different
  // banks.
  i32 line_row = thread / 32 * 8 + thread / 8 % 4, line_chunk = thread % 8;
  bool is_low = line_chunk < 4;
  i32 first_row = line_row + (is_low ? 0 : 4), second_row = line_row + (is_low ? 4 : 0);
  uvec4 next_a[A_LOADS][1], next_b[B_LOADS][1];
  uvec4 held_a[A_LOADS / 2], held_b[B_LOADS / 2];
#define FETCH_A(pair)                                                                                \
  [[unroll]] for (i32 s = 0; s < A_LOADS; ++s)                                                       \
    fetch_a(batch, row0 + line_row + s / 2 * (WORKGROUP / 4) + s % 2 * 4,                            \
            (pair) * 8 + (line_chunk ^ (s % 2 * 4)), next_a[s]);
#define FETCH_B(pair)                                                                                \
  [[unroll]] for (i32 s = 0; s < B_LOADS; ++s)                                                       \
    fetch_b(batch, col0 + line_row + s / 2 * (WORKGROUP / 4) + s % 2 * 4,                            \
            (pair) * 8 + (line_chunk ^ (s % 2 * 4)), next_b[s]);
#define PUT_FIRST_A(place)                                                                           \
  [[unroll]] for (i32 s = 0; s < A_LOADS / 2; ++s) {                                                 \
    put((place) + (first_row + s * (WORKGROUP / 4)) * A_PITCH + line_chunk % 4 * (16 / WORD_BYTES),  \
        is_low ? next_a[2 * s][0] : next_a[2 * s + 1][0]);                                           \
    held_a[s] = is_low ? next_a[2 * s + 1][0] : next_a[2 * s][0];                                    \
  }
#define PUT_FIRST_B(place)                                                                           \
  [[unroll]] for (i32 s = 0; s < B_LOADS / 2; ++s) {                                                 \
    put((place) + (first_row + s * (WORKGROUP / 4)) * B_PITCH + line_chunk % 4 * (16 / WORD_BYTES),  \
        is_low ? next_b[2 * s][0] : next_b[2 * s + 1][0]);                                           \
    held_b[s] = is_low ? next_b[2 * s + 1][0] : next_b[2 * s][0];                                    \
  }
#define PUT_SECOND_A(place)                                                                          \
  [[unroll]] for (i32 s = 0; s < A_LOADS / 2; ++s)                                                   \
    put((place) + (second_row + s * (WORKGROUP / 4)) * A_PITCH + line_chunk % 4 * (16 / WORD_BYTES), \
        held_a[s]);
#define PUT_SECOND_B(place)                                                                          \
  [[unroll]] for (i32 s = 0; s < B_LOADS / 2; ++s)                                                   \
    put((place) + (second_row + s * (WORKGROUP / 4)) * B_PITCH + line_chunk % 4 * (16 / WORD_BYTES), \
        held_b[s]);
#else
  uvec4 next_a[A_STEPS][A_CHUNKS];
  uvec4 next_b[B_STEPS][B_CHUNKS];

#define FETCH(tile)                                                                                \
  [[unroll]] for (i32 s = 0; s < A_STEPS; ++s) {                                                \
    i32 n = thread + s * SLICE_THREADS;                                                                \
    if (A_PIECES % SLICE_THREADS == 0 || n < A_PIECES) {                                            \
      if (params_product_a_major_k != 0)                                                          \
        fetch_a(batch, row0 + A_ROW(n), (tile) * (BLOCK_K / A_PIECE) + n % A_PER_ROW, next_a[s]); \
      else                                                                                         \
        fetch_a(batch, row0 / A_PIECE + n % A_PER_ROW, (tile) * BLOCK_K + A_ROW(n), next_a[s]);  \
    }                                                                                              \
  } \
  [[unroll]] for (i32 s = 0; s < B_STEPS; ++s) {                                                \
    i32 n = thread + s * SLICE_THREADS;                                                                \
    if (B_PIECES % SLICE_THREADS == 0 || n < B_PIECES) {                                            \
      if (params_product_b_major_k != 0)                                                          \
        fetch_b(batch, col0 + B_ROW(n), (tile) * (BLOCK_K / B_PIECE) + n % B_PER_ROW, next_b[s]); \
      else                                                                                         \
        fetch_b(batch, col0 / B_PIECE + n % B_PER_ROW, (tile) * BLOCK_K + B_ROW(n), next_b[s]);  \
    }                                                                                              \
  }
#define PUT(slot)                                                                                  \
  [[unroll]] for (i32 s = 0; s < A_STEPS; ++s) {                                                \
    i32 n = thread + s * SLICE_THREADS;                                                                \
    if (A_PIECES % SLICE_THREADS == 0 || n < A_PIECES)                                               \
      [[unroll]] for (i32 c = 0; c < A_CHUNKS; ++c)                                               \
        put(A_AT(slot) + A_ROW(n) * A_PITCH + (n % A_PER_ROW * A_CHUNKS + c) * (16 / WORD_BYTES), \
            next_a[s][c]);                                                                        \
  } \
  [[unroll]] for (i32 s = 0; s < B_STEPS; ++s) {                                                \
    i32 n = thread + s * SLICE_THREADS;                                                                \
    if (B_PIECES % SLICE_THREADS == 0 || n < B_PIECES)                                               \
      [[unroll]] for (i32 c = 0; c < B_CHUNKS; ++c)                                               \
        put(B_AT(slot) + B_ROW(n) * B_PITCH + (n % B_PER_ROW * B_CHUNKS + c) * (16 / WORD_BYTES), \
            next_b[s][c]);                                                                        \
  }
#endif
#if params_product_a_major_k
#define READ_A(a, slot, step, i)                                                                                      \
  coopMatLoad(a, tiles, A_AT(slot) + (subgroup_m + (i) * UNIT_M) * A_PITCH + WORDS((step) * UNIT_K), A_PITCH, \
              gl_CooperativeMatrixLayoutRowMajor)
#else
#define READ_A(a, slot, step, i)                                                                                    \
  coopMatLoad(a, tiles, A_AT(slot) + (step) * UNIT_K * A_PITCH + WORDS(subgroup_m + (i) * UNIT_M), A_PITCH, \
              gl_CooperativeMatrixLayoutColumnMajor)
#endif
#if params_product_b_major_k
#define READ_B(b, slot, step, j)                                                                                   \
  coopMatLoad(b, tiles, B_AT(slot) + (subgroup_n + (j) * UNIT_N) * B_PITCH + WORDS((step) * UNIT_K), \
              B_PITCH, gl_CooperativeMatrixLayoutColumnMajor)
#else
#define READ_B(b, slot, step, j)                                                                                  \
  coopMatLoad(b, tiles, B_AT(slot) + (step) * UNIT_K * B_PITCH + WORDS(subgroup_n + (j) * UNIT_N), \
              B_PITCH, gl_CooperativeMatrixLayoutRowMajor)
#endif
#define MULTIPLY(slot)                                                                         \
  [[unroll]] for (i32 step = 0; step < K_STEPS; ++step) {                                      \
    coopmat<A_TYPE, gl_ScopeSubgroup, UNIT_M, UNIT_K, gl_MatrixUseA> a[UNITS_M];               \
    [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) READ_A(a[i], slot, step, i);                  \
    [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) {                                             \
      coopmat<B_TYPE, gl_ScopeSubgroup, UNIT_K, UNIT_N, gl_MatrixUseB> b;                      \
      READ_B(b, slot, step, j);                                                                \
      [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) acc[i][j] = coopMatMulAdd(a[i], b, acc[i][j]); \
    }                                                                                          \
  }

#if params_paired
  // The last turns load the last pair again, and store what nothing reads.
  if (params_product_k != 0 || SIZE_K > 0) {
    FETCH_A(0)
    FETCH_B(0)
    PUT_FIRST_A(A_AT(0))
    PUT_SECOND_A(A_AT(1))
    PUT_FIRST_B(B_AT(0))
  }
  barrier();
  [[dont_unroll]] for (i32 pair = 1; pair <= K_TURNS; ++pair) {
    FETCH_A(LEAST(pair, K_TURNS - 1))
    MULTIPLY(0)
    barrier();
    PUT_SECOND_B(B_AT(0))
    PUT_FIRST_A(A_AT(0))
    barrier();
    FETCH_B(LEAST(pair, K_TURNS - 1))
    MULTIPLY(1)
    barrier();
    PUT_FIRST_B(B_AT(0))
    PUT_SECOND_A(A_AT(1))
    barrier();
  }
#else
  // The last turns load the last tile again, and store what nothing reads.
  if (params_product_k != 0 || SIZE_K > 0) {
    FETCH(slice)
    PUT(0)
  }
  barrier();
  [[dont_unroll]] for (i32 first = 0; first < K_TURNS; first += STAGES) {
    [[unroll]] for (i32 t = 0; t < STAGES; ++t)  // the slot's number is a constant
      if ((params_product_k != 0 && K_TURNS % STAGES == 0) || first + t < K_TURNS) {
        FETCH(LEAST(first + t + 1, K_TURNS - 1) * params_slices + slice)
        MULTIPLY(t)
        if (STAGES == 1) barrier();
        PUT((t + 1) % STAGES)
        barrier();
      }
  }
#endif

  i32 first_line = params_product_swapped != 0 ? col0 + subgroup_n : row0 + subgroup_m;
  i32 first_column = params_product_swapped != 0 ? row0 + subgroup_m : col0 + subgroup_n;
  // Slices share the lines, whose sums they add up.
#if params_slices == 1
#define SLICES_MEET subgroupBarrier()
#else
#define SLICES_MEET barrier()
#endif
  i32 first_staged = subgroup * SLAB_WORDS, staged = first_staged + slice * (SUBGROUPS * SLAB_WORDS);
  [[unroll]] for (i32 slab = 0; slab < SLABS; ++slab) {
    if (slab > 0) SLICES_MEET;
#if params_product_swapped
    [[unroll]] for (i32 i = 0; i < UNITS_M; ++i)
      coopMatStore(acc[i][slab], tiles, staged + i * UNIT_M * 4 / WORD_BYTES, LINE_PITCH,
                   gl_CooperativeMatrixLayoutColumnMajor);
#else
    [[unroll]] for (i32 j = 0; j < UNITS_N; ++j)
      coopMatStore(acc[slab][j], tiles, staged + j * UNIT_N * 4 / WORD_BYTES, LINE_PITCH,
                   gl_CooperativeMatrixLayoutRowMajor);
#endif
    SLICES_MEET;
    [[dont_unroll]] for (i32 n = lane + slice * params_subgroup; n < SLAB_LINES * LINE / SEGMENT;
                         n += params_subgroup * params_slices) {
      i32 line = n / (LINE / SEGMENT), column = n % (LINE / SEGMENT) * SEGMENT;
      i32 at = first_staged * (WORD_BYTES / 4) + line * LINE_PITCH * (WORD_BYTES / 4) + column;
      ACC sums[SEGMENT];
      [[unroll]] for (i32 v = 0; v < SEGMENT; ++v) sums[v] = FROM_BITS(word_at(at + v));
      [[unroll]] for (i32 other = 1; other < params_slices; ++other)
        [[unroll]] for (i32 v = 0; v < SEGMENT; ++v)
          sums[v] += FROM_BITS(word_at(at + other * (SUBGROUPS * SLAB_WORDS * (WORD_BYTES / 4)) + v));
      epilogue(TCC_BUFFERS batch, first_line + slab * SLAB_LINES + line, first_column / SEGMENT + column / SEGMENT, sums);
    }
  }
}
