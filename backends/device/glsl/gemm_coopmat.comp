// Matrix products on cooperative matrices (GL_KHR_cooperative_matrix): out[row, col] = sum over k of A[row, k] * B[k, col],
// per batch. Operands of 16 bits with sums in f32; bytes with sums in 32 bits.
//
// A workgroup computes a block_m x block_n tile, a subgroup (block_m / subgroups_m) x (block_n / subgroups_n) of it, by
// matrices of unit_m x unit_n x unit_k. Tiles of A and B go through shared memory. Threads load the next one into
// registers, 16 bytes at a time, before this one is multiplied, and store it after that: no register lives from one turn
// of the main loop to the next, which compilers would copy.
//
// A direct operand has no tile in shared memory: each invocation loads the words that it holds of its subgroup's matrices,
// 16 bytes at a time, a turn ahead. Where both are direct, nothing waits for other subgroups before the epilogue. Where B
// alone is, the tile of A has the words of an invocation next to one another.
//
// Slices are groups of subgroups that have the same tile, and take turns at its tiles of k. Each has its place in shared
// memory, and their sums are added up on their way to the epilogue.
//
// Defines: params_NAME, the members of a GemmCoopmat, and params_sizes_NAME, those of its GemmCoopmatSizes
// (common/gemm_coopmat_shape.h). Sizes that come at run time are SIZE_M, SIZE_N and SIZE_K, and then TILES is the number of
// workgroups with a tile. Hooks, by how an operand x is loaded:
//   tiles     chunk_x(batch, at, k): the number of the 16 bytes in buffer X_BUFFER
//   im2col    vector_x(batch, at, k): the number of a vector of pixel `at`, the sum of what `at` and `k` add; a vector is
//             16 bytes or half of them, which k and the number count
//             inside_x(batch, at, k): whether it is in the image, others are zeros
//   computed  load_x(batch, at, k, v): computes a vector of elements as accumulators; guards itself
// major_k: memory is contiguous along k; `at` is a row (of B: a column), `k` counts chunks or vectors. Otherwise it is
// contiguous along m (of B: n); `at` counts chunks or vectors, `k` is an element of k.
// epilogue(batch, row, part, acc) gets `segment` neighbouring columns from segment * part on, and guards itself; where
// swapped, neighbouring rows of column `row`: the operands have changed sides, so that results lie along m. What it loads
// comes ahead of it, as words that are further arguments:
//   hold_columns(batch, row, part, words)  params_held_columns words, the same ones for all rows
//   hold(batch, row, part, words)          params_held words
#ifndef params_block_m  // compiled after the prelude alone, with default parameters and hooks that do the least
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
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
#define params_taps 0
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
#define params_sizes_subgroup_m 64
#define params_sizes_subgroup_n 64
#define params_sizes_slice_threads 128
#define params_sizes_turn_k 32
#define params_sizes_word_bytes 16
#define params_sizes_words 2560
#define params_sizes_a_rows 128
#define params_sizes_a_columns 32
#define params_sizes_a_pitch 5
#define params_sizes_a_words 640
#define params_sizes_b_rows 128
#define params_sizes_b_columns 32
#define params_sizes_b_pitch 5
#define params_sizes_b_words 640
#define params_sizes_straight_a 0
#define params_sizes_straight_b 0
#define params_sizes_lines 16
#define params_sizes_line 64
#define params_sizes_line_pitch 18
#define params_sizes_slab 288
#define params_sizes_steps 4
#define params_paired 0
#define params_direct 0
#define params_slices 1
#define params_band 8
#define params_held_columns 0
#define params_held 0
#define A_BUFFER b0
#define B_BUFFER b1
#define WORKGROUP 128
#define GRID 1024
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

#define ELEMENT params_product_a_element
#define WORD_BYTES params_sizes_word_bytes
#define TILE_WORDS params_sizes_words
#define THREADS params_sizes_slice_threads
#include "coopmat.inc"

// Bytes of both operands, but not those of 16 bits, may differ in their sign.
#if params_product_b_element == ELEMENT
#define B_TYPE TYPE
#elif params_product_b_element == Element_i8
#define B_TYPE i8
#else
#define B_TYPE u8
#endif

#define BLOCK_M params_block_m
#define BLOCK_N params_block_n
#define BLOCK_K params_block_k
#define UNIT_M params_unit_m
#define UNIT_N params_unit_n
#define UNIT_K params_unit_k
#define UNITS_M (params_sizes_subgroup_m / UNIT_M)
#define UNITS_N (params_sizes_subgroup_n / UNIT_N)
#define K_STEPS (BLOCK_K / UNIT_K)
#define SUBGROUPS (params_subgroups_m * params_subgroups_n)
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
#define TURN_K params_sizes_turn_k
#define K_TURNS ((SIZE_K + TURN_K - 1) / TURN_K)
#define SEGMENT params_product_segment

u32 word_at(i32 number) {  // of 4 bytes
  return tiles[number / (WORD_BYTES / 4)][number % (WORD_BYTES / 4)];
}

// A tile has rows along the axis that is contiguous in memory, of whole chunks of 16 bytes.
#define A_ROWS params_sizes_a_rows
#define B_ROWS params_sizes_b_rows
#define A_PITCH params_sizes_a_pitch
#define B_PITCH params_sizes_b_pitch
#define TILE_A params_sizes_a_words
#define TILE_B params_sizes_b_words
#define STAGES params_stages
// Places of tiles: stages of both, or where paired two of A and one of B.
#if params_direct == 1
#define A_AT(t) ((slice * STAGES + (t)) * TILE_A)
#elif params_paired
#define A_AT(t) ((t) * TILE_A)
#define B_AT(t) (2 * TILE_A)
#else
#define A_AT(t) ((slice * STAGES + (t)) * (TILE_A + TILE_B))
#define B_AT(t) (A_AT(t) + TILE_A)
#endif

// A thread brings pieces of a tile: chunks, or where a vector of the load hook is longer, vectors.
#define LONGEST(load, vector) (load == Load_computed && vector > CHUNK ? vector : CHUNK)
#define A_PIECE LONGEST(params_product_a_load, params_product_a_vector)
#define B_PIECE LONGEST(params_product_b_load, params_product_b_vector)
#define A_PER_ROW (params_sizes_a_columns / A_PIECE)
#define B_PER_ROW (params_sizes_b_columns / B_PIECE)
#define A_PIECES (A_ROWS * A_PER_ROW)
#define B_PIECES (B_ROWS * B_PER_ROW)
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

// A thread's column in round r: the same in all rounds where it can be.
#define COLUMN(r, per_row) (THREADS % (per_row) == 0 ? thread % (per_row) : (thread + (r) * THREADS) % (per_row))

// fetch_x(batch, row, k, bits): the piece number k of the operand's line `row`, as chunks. Where lines are not along k,
// `row` is the number of the piece and k the line. Rows and columns past the end repeat others; elements past the end of k
// are zeros. `constant` and `size` are the operand's rows or columns, of which a workgroup has `block`.
#define CHUNK_FETCH(fetch, number_of, buffer, major_k, constant, size, block)                          \
  void fetch(i32 batch, i32 row, i32 k, inout uvec4 bits[1]) {                                         \
    bool inside = true;                                                                                \
    if (RAGGED(params_product_k, TURN_K)) inside = k < (major_k != 0 ? SIZE_K / CHUNK : SIZE_K);       \
    if (RAGGED(constant, block)) row = LEAST(row, (major_k != 0 ? size : size / CHUNK) - 1);           \
    if (RAGGED(params_product_k, TURN_K)) k = inside ? k : 0;                                          \
    bits[0] = Chunks(buffer).v[number_of(TCC_BUFFERS batch, row, k)];                                  \
    if (!inside) bits[0] = uvec4(0);                                                                   \
  }
// An image's rows are pixels. Threads keep what a pixel adds to the numbers of its vectors, and a bit for each tap under
// which it is in the image. Where there are more taps than bits, they keep the pixel, and ask the hooks about each vector.
struct Pixel {
  i32 number;
  u32 taps;
};
#define KEEPS_TAPS (params_taps <= 32)
#define VECTORS_OF_TAP(vector) (params_product_k / (vector) / params_taps)
#define PIXEL(pixel, number_of, is_inside, vector, constant, size, block)                              \
  Pixel pixel(i32 batch, i32 row) {                                                                    \
    if (RAGGED(constant, block)) row = LEAST(row, size - 1);                                           \
    if (!KEEPS_TAPS) return Pixel(row, 0u);                                                            \
    Pixel kept = Pixel(number_of(TCC_BUFFERS batch, row, 0), 0u);                                      \
    [[unroll]] for (i32 tap = 0; tap < LEAST(params_taps, 32); ++tap)                                  \
      if (is_inside(TCC_BUFFERS batch, row, tap * VECTORS_OF_TAP(vector)) != 0) kept.taps |= 1u << tap; \
    return kept;                                                                                       \
  }
#define IMAGE_FETCH(fetch, number_of, is_inside, buffer, vector)                                       \
  void fetch(i32 batch, Pixel pixel, i32 k, inout uvec4 bits[1]) {                                     \
    [[unroll]] for (i32 part = 0; part < CHUNK / (vector); ++part) {                                   \
      i32 at = k * (CHUNK / (vector)) + part, number;                                                  \
      bool inside = !RAGGED(params_product_k, TURN_K) || at < SIZE_K / (vector);                       \
      if (KEEPS_TAPS) {                                                                                \
        inside = inside && (pixel.taps >> at / VECTORS_OF_TAP(vector) & 1u) != 0u;                     \
        number = pixel.number + (number_of(TCC_BUFFERS 0, 0, at) - number_of(TCC_BUFFERS 0, 0, 0));    \
      } else {                                                                                         \
        inside = inside && is_inside(TCC_BUFFERS batch, pixel.number, at) != 0;                        \
        number = number_of(TCC_BUFFERS batch, pixel.number, at);                                       \
      }                                                                                                \
      if ((vector) == CHUNK) {                                                                         \
        bits[0] = uvec4(0);                                                                            \
        if (inside) bits[0] = Chunks(buffer).v[number];                                                \
      } else {                                                                                         \
        uvec2 half_of = uvec2(0);                                                                      \
        if (inside) half_of = Halves(buffer).v[number];                                                \
        bits[0][2 * part] = half_of.x;                                                                 \
        bits[0][2 * part + 1] = half_of.y;                                                             \
      }                                                                                                \
    }                                                                                                  \
  }
#define COMPUTED_FETCH(fetch, load, major_k, piece, vector)                                            \
  void fetch(i32 batch, i32 row, i32 k, inout uvec4 bits[piece / CHUNK]) {                             \
    COMPUTE_CHUNKS(bits, piece, vector, load, major_k != 0 ? row : row * (piece / vector) + i / vector, \
                   major_k != 0 ? k * (piece / vector) + i / vector : k)                               \
  }
#if params_product_a_load == Load_computed
COMPUTED_FETCH(fetch_a, load_a, params_product_a_major_k, A_PIECE, params_product_a_vector)
#elif params_product_a_load == Load_im2col
PIXEL(pixel_a, vector_a, inside_a, params_product_a_vector, params_product_m, SIZE_M, BLOCK_M)
IMAGE_FETCH(fetch_a, vector_a, inside_a, A_BUFFER, params_product_a_vector)
#else
CHUNK_FETCH(fetch_a, chunk_a, A_BUFFER, params_product_a_major_k, params_product_m, SIZE_M, BLOCK_M)
#endif
#if params_product_b_load == Load_computed
COMPUTED_FETCH(fetch_b, load_b, params_product_b_major_k, B_PIECE, params_product_b_vector)
#elif params_product_b_load == Load_im2col
PIXEL(pixel_b, vector_b, inside_b, params_product_b_vector, params_product_n, SIZE_N, BLOCK_N)
IMAGE_FETCH(fetch_b, vector_b, inside_b, B_BUFFER, params_product_b_vector)
#else
CHUNK_FETCH(fetch_b, chunk_b, B_BUFFER, params_product_b_major_k, params_product_n, SIZE_N, BLOCK_N)
#endif

// A pointer passes along the lines of a straight operand, which are whole and lie at constant distances.
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer Chunk { uvec4 v; };
#define LINE_CHUNKS(number_of) (number_of(TCC_BUFFERS batch, 1, 0) - number_of(TCC_BUFFERS batch, 0, 0))

// Sums pass to the epilogue through shared memory, some lines of each subgroup at a time: rows, or where swapped columns.
#if params_product_swapped
#define SLABS UNITS_N
#else
#define SLABS UNITS_M
#endif
#define LINE params_sizes_line
#define LINE_PITCH params_sizes_line_pitch
#define SLAB_LINES params_sizes_lines
#define SLAB_WORDS params_sizes_slab
// Sums come back as whole words where a segment has such: compilers do not see it, and load 4 bytes at a time. `at` is the
// number of the first word of a line.
#if params_product_segment % (WORD_BYTES / 4) == 0
#define EACH_STAGED_SUM(at, column, v, sum, do_it)                                          \
  [[unroll]] for (i32 first = 0; first < SEGMENT; first += WORD_BYTES / 4) {                \
    WORD words = tiles[(at) + ((column) + first) / (WORD_BYTES / 4)];                       \
    [[unroll]] for (i32 w = 0; w < WORD_BYTES / 4; ++w) {                                   \
      i32 v = first + w;                                                                    \
      ACC sum = FROM_BITS(words[w]);                                                        \
      do_it;                                                                                \
    }                                                                                       \
  }
#else
#define EACH_STAGED_SUM(at, column, v, sum, do_it)                                          \
  [[unroll]] for (i32 v = 0; v < SEGMENT; ++v) {                                            \
    ACC sum = FROM_BITS(word_at((at) * (WORD_BYTES / 4) + (column) + v));                   \
    do_it;                                                                                  \
  }
#endif

TCC_ENTRY {
  i32 lane = i32(gl_SubgroupInvocationID);
#if params_slices == 1
  const i32 slice = 0;
  i32 thread = i32(TCC_THREAD), subgroup = i32(gl_SubgroupID);
#else
  i32 slice = i32(gl_SubgroupID) / SUBGROUPS;
  i32 thread = i32(TCC_THREAD) % THREADS, subgroup = i32(gl_SubgroupID) % SUBGROUPS;
#endif
  INDEX block = INDEX(TCC_BLOCK);
  if (block >= TILES) return;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  i32 in_batch = i32(TILE % (TILES_M * TILES_N)), batch = i32(TILE / (TILES_M * TILES_N));
  i32 band_start = in_batch / (params_band * TILES_N) * params_band;
  i32 band_rows = LEAST(TILES_M - band_start, params_band);
  i32 in_band = in_batch % (params_band * TILES_N);
  i32 row0 = (band_start + in_band % band_rows) * BLOCK_M, col0 = in_band / band_rows * BLOCK_N;
  i32 subgroup_m = subgroup / params_subgroups_n * params_sizes_subgroup_m;
  i32 subgroup_n = subgroup % params_subgroups_n * params_sizes_subgroup_n;

  MATRIX_SUMS(UNIT_ACC) acc[UNITS_M][UNITS_N];
  [[unroll]] for (i32 i = 0; i < UNITS_M; ++i)
    [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) acc[i][j] = MATRIX_SUMS(UNIT_ACC)(UNIT_ACC(0));

#if params_direct
  // An invocation holds eight elements of a matrix of 16 x 16: two words of row lane / 4 and the same two of row
  // lane / 4 + 8, of B columns. Those are words lane % 4 and lane % 4 + 4 of k. Both operands take k in the same order, so it
  // may be another one than memory's: the four words of 16 bytes go to two matrices. Four invocations load 64 bytes of a row.
#define LINES (BLOCK_K / (4 * CHUNK))
  i32 line_row = lane / 4, line_chunk = lane % 4;
#define FIRST_CHUNK (slice * (BLOCK_K / CHUNK) + line_chunk)
#define LINE_ROW(i, unit) ((i) / 2 * (unit) + line_row + (i) % 2 * 8)
#define PLACES_B (2 * UNITS_N)
#define ROW_B(i) (col0 + subgroup_n + LINE_ROW(i, UNIT_N))
#define FETCH_HALF(fetch, next, place, tile, g, half_of) \
  fetch(batch, place, (tile) * (BLOCK_K / CHUNK) + (g) * 4 + line_chunk, next[half_of]);
#define FETCH_LINE(fetch, next, place, i, tile, g) \
  FETCH_HALF(fetch, next, place(2 * (i)), tile, g, 0) FETCH_HALF(fetch, next, place(2 * (i) + 1), tile, g, 1)
#define LOAD_LINE(next, pointer, row, number_of, g)                           \
  next[0][0] = pointer[(row) * LINE_CHUNKS(number_of) + (g) * 4].v;           \
  next[1][0] = pointer[((row) + 8) * LINE_CHUNKS(number_of) + (g) * 4].v;
#define SET_PAIR(matrix, e, word)     \
  {                                   \
    PAIR pair = PAIR_OF(word);        \
    matrix[e] = pair[0];              \
    matrix[(e) + 1] = pair[1];        \
  }
#define SET(matrix, next, step)                       \
  SET_PAIR(matrix, 0, next[0][0][(step) * 2])         \
  SET_PAIR(matrix, 2, next[0][0][(step) * 2 + 1])     \
  SET_PAIR(matrix, 4, next[1][0][(step) * 2])         \
  SET_PAIR(matrix, 6, next[1][0][(step) * 2 + 1])
  uvec4 next_b[LINES][UNITS_N][2][1];
#if params_sizes_straight_b
  Chunk at_b = Chunk(B_BUFFER) + chunk_b(TCC_BUFFERS batch, col0 + subgroup_n + line_row, FIRST_CHUNK);
#define FETCH_B(tile, g, j) LOAD_LINE(next_b[g][j], at_b, (j) * UNIT_N, chunk_b, g)
#else
#define FETCH_B(tile, g, j) FETCH_LINE(fetch_b, next_b[g][j], PLACE_B, j, tile, g)
#endif
#if params_direct == 2
#define PLACES_A (2 * UNITS_M)
#define ROW_A(i) (row0 + subgroup_m + LINE_ROW(i, UNIT_M))
  uvec4 next_a[LINES][UNITS_M][2][1];
#if params_sizes_straight_a
  Chunk at_a = Chunk(A_BUFFER) + chunk_a(TCC_BUFFERS batch, row0 + subgroup_m + line_row, FIRST_CHUNK);
#define FETCH_A(tile, g)                                                        \
  [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) {                                \
    LOAD_LINE(next_a[g][i], at_a, i * UNIT_M, chunk_a, g)                       \
  }
#else
#define FETCH_A(tile, g)                                                        \
  [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) {                                \
    FETCH_LINE(fetch_a, next_a[g][i], PLACE_A, i, tile, g)                      \
  }
#endif
#else
  // Invocations bring pieces in pairs, of rows that are eight apart. The words of a matrix lie in the order of registers.
#define PAIRS (A_PIECES / 2)
#define PAIR_ROW(n) ((n) / A_PER_ROW / 8 * 16 + (n) / A_PER_ROW % 8)
#define PLACES_A (2 * ROUNDS(PAIRS))
#define ROW_A(i) (row0 + PAIR_ROW(thread + (i) / 2 * THREADS) + (i) % 2 * 8)
#define MATRIX_WORDS params_sizes_a_pitch  // of the rows of a matrix and 64 bytes of k
  uvec4 next_a[ROUNDS(PAIRS)][2][A_CHUNKS];
#if params_sizes_straight_a
  Chunk at_a = Chunk(A_BUFFER) + chunk_a(TCC_BUFFERS batch, row0 + PAIR_ROW(thread), slice * A_PER_ROW + thread % A_PER_ROW);
#define FETCH_A(tile)                                                                                         \
  [[unroll]] for (i32 r = 0; r < PAIRS / THREADS; ++r)                                                        \
    [[unroll]] for (i32 half_of = 0; half_of < 2; ++half_of)                                                  \
      next_a[r][half_of][0] = at_a[(PAIR_ROW(r * THREADS) + 8 * half_of) * LINE_CHUNKS(chunk_a)].v;
#else
#define FETCH_A(tile)                                                                                         \
  EACH_PIECE(PAIRS)                                                                                           \
    [[unroll]] for (i32 half_of = 0; half_of < 2; ++half_of)                                                  \
      fetch_a(batch, PLACE_A(2 * r + half_of), (tile) * A_PER_ROW + COLUMN(r, A_PER_ROW), next_a[r][half_of]);
#endif
#define PUT_A(slot)                                                                                           \
  EACH_PIECE(PAIRS)                                                                                           \
    [[unroll]] for (i32 c = 0; c < A_CHUNKS; ++c) {                                                           \
      i32 chunk = PIECE % A_PER_ROW * A_CHUNKS + c, row = PIECE / A_PER_ROW;                                  \
      i32 at = A_AT(slot) + (row / 8 * LINES + chunk / 4) * MATRIX_WORDS + row % 8 * 4 + chunk % 4;           \
      uvec4 low = next_a[r][0][c], high = next_a[r][1][c];                                                    \
      tiles[at] = uvec4(low[0], high[0], low[1], high[1]);                                                    \
      tiles[at + 32] = uvec4(low[2], high[2], low[3], high[3]);                                               \
    }
#define READ_A(matrix, slot, g, step, i)                                                                      \
  {                                                                                                           \
    uvec4 words = tiles[A_AT(slot) + ((subgroup_m / UNIT_M + (i)) * LINES + (g)) * MATRIX_WORDS + (step) * 32 + lane]; \
    SET_PAIR(matrix, 0, words[0])                                                                             \
    SET_PAIR(matrix, 2, words[2])                                                                             \
    SET_PAIR(matrix, 4, words[1])                                                                             \
    SET_PAIR(matrix, 6, words[3])                                                                             \
  }
#endif
  // Passes on to the next tile, where there is one.
#if params_sizes_straight_a
#define NEXT_A(is_more) at_a += (is_more) ? TURN_K / CHUNK : 0;
#else
#define NEXT_A(is_more)
#endif
#if params_sizes_straight_b
#define NEXT_B(is_more) at_b += (is_more) ? TURN_K / CHUNK : 0;
#else
#define NEXT_B(is_more)
#endif
#elif params_paired
  // Eight threads bring a line of 128 bytes: the chunks of a row in two tiles of k. A thread's loads come in pairs, of which
  // one is in the first tile: threads of the other half of a line swap them. Their rows lie four apart, and so in different
  // banks.
  i32 line_row = thread / 32 * 8 + thread / 8 % 4, line_chunk = thread % 8;
  bool is_low = line_chunk < 4;
  i32 first_row = line_row + (is_low ? 0 : 4), second_row = line_row + (is_low ? 4 : 0);
  uvec4 next_a[A_LOADS][1], next_b[B_LOADS][1];
  uvec4 held_a[A_LOADS / 2], held_b[B_LOADS / 2];
#define LINE_ROW(s) (line_row + (s) / 2 * (WORKGROUP / 4) + (s) % 2 * 4)
#define PLACES_A A_LOADS
#define PLACES_B B_LOADS
#define ROW_A(s) (row0 + LINE_ROW(s))
#define ROW_B(s) (col0 + LINE_ROW(s))
#define FETCH_PAIR(fetch, next, loads, place, pair)                                              \
  [[unroll]] for (i32 s = 0; s < loads; ++s)                                                     \
    fetch(batch, place(s), (pair) * 8 + (line_chunk ^ (s % 2 * 4)), next[s]);
#define LINE_AT(place, row, pitch) ((place) + (row) * (pitch) + line_chunk % 4 * CHUNK_WORDS)
#define PUT_FIRST(next, held, loads, place, pitch)                                               \
  [[unroll]] for (i32 s = 0; s < loads / 2; ++s) {                                               \
    put(LINE_AT(place, first_row + s * (WORKGROUP / 4), pitch), is_low ? next[2 * s][0] : next[2 * s + 1][0]); \
    held[s] = is_low ? next[2 * s + 1][0] : next[2 * s][0];                                      \
  }
#define PUT_SECOND(held, loads, place, pitch)                                                    \
  [[unroll]] for (i32 s = 0; s < loads / 2; ++s)                                                 \
    put(LINE_AT(place, second_row + s * (WORKGROUP / 4), pitch), held[s]);
#define FETCH_A(pair) FETCH_PAIR(fetch_a, next_a, A_LOADS, PLACE_A, pair)
#define FETCH_B(pair) FETCH_PAIR(fetch_b, next_b, B_LOADS, PLACE_B, pair)
#define PUT_FIRST_A PUT_FIRST(next_a, held_a, A_LOADS, A_AT(0), A_PITCH)
#define PUT_FIRST_B PUT_FIRST(next_b, held_b, B_LOADS, B_AT(0), B_PITCH)
#define PUT_SECOND_A PUT_SECOND(held_a, A_LOADS, A_AT(1), A_PITCH)
#define PUT_SECOND_B PUT_SECOND(held_b, B_LOADS, B_AT(0), B_PITCH)
#else
  uvec4 next_a[ROUNDS(A_PIECES)][A_CHUNKS];
  uvec4 next_b[ROUNDS(B_PIECES)][B_CHUNKS];
#define PLACES_A ROUNDS(A_PIECES)
#define PLACES_B ROUNDS(B_PIECES)
  // Where lines are not along k, the place is the number of a piece.
#define LINE_OF(r, per_row, rows) ROW_OF(thread + (r) * THREADS, per_row, rows)
#if params_product_a_major_k
#define ROW_A(r) (row0 + LINE_OF(r, A_PER_ROW, A_ROWS))
#define K_A(tile, r) ((tile) * A_PER_ROW + COLUMN(r, A_PER_ROW))
#else
#define ROW_A(r) (row0 / A_PIECE + COLUMN(r, A_PER_ROW))
#define K_A(tile, r) ((tile) * BLOCK_K + LINE_OF(r, A_PER_ROW, A_ROWS))
#endif
#if params_product_b_major_k
#define ROW_B(r) (col0 + LINE_OF(r, B_PER_ROW, B_ROWS))
#define K_B(tile, r) ((tile) * B_PER_ROW + COLUMN(r, B_PER_ROW))
#else
#define ROW_B(r) (col0 / B_PIECE + COLUMN(r, B_PER_ROW))
#define K_B(tile, r) ((tile) * BLOCK_K + LINE_OF(r, B_PER_ROW, B_ROWS))
#endif
#define FETCH_TILE(fetch, next, pieces, place, k, tile) \
  EACH_PIECE(pieces) fetch(batch, place(r), k(tile, r), next[r]);
#define PUT_TILE(next, rows, per_row, chunks, pitch, place)                                      \
  EACH_PIECE(rows * per_row) {                                                                   \
    i32 n = PIECE;                                                                               \
    [[unroll]] for (i32 c = 0; c < chunks; ++c)                                                  \
      put((place) + ROW_OF(n, per_row, rows) * pitch + (n % per_row * chunks + c) * CHUNK_WORDS, next[r][c]); \
  }
#define FETCH(tile)                                                                              \
  FETCH_TILE(fetch_a, next_a, A_PIECES, PLACE_A, K_A, tile)                                      \
  FETCH_TILE(fetch_b, next_b, B_PIECES, PLACE_B, K_B, tile)
#define PUT(slot)                                                                                \
  PUT_TILE(next_a, A_ROWS, A_PER_ROW, A_CHUNKS, A_PITCH, A_AT(slot))                             \
  PUT_TILE(next_b, B_ROWS, B_PER_ROW, B_CHUNKS, B_PITCH, B_AT(slot))
#endif
  // A thread's rows of an operand have constant numbers; PLACE_x is what fetch_x gets.
#if params_product_a_load == Load_im2col
  Pixel pixels_a[PLACES_A];
  [[unroll]] for (i32 i = 0; i < PLACES_A; ++i) pixels_a[i] = pixel_a(batch, ROW_A(i));
#define PLACE_A(i) pixels_a[i]
#else
#define PLACE_A(i) ROW_A(i)
#endif
#if params_product_b_load == Load_im2col
  Pixel pixels_b[PLACES_B];
  [[unroll]] for (i32 i = 0; i < PLACES_B; ++i) pixels_b[i] = pixel_b(batch, ROW_B(i));
#define PLACE_B(i) pixels_b[i]
#else
#define PLACE_B(i) ROW_B(i)
#endif
#if params_direct
#elif params_product_a_major_k
#define READ_A(a, slot, step, i)                                                                              \
  coopMatLoad(a, tiles, A_AT(slot) + (subgroup_m + (i) * UNIT_M) * A_PITCH + WORDS((step) * UNIT_K), A_PITCH, \
              gl_CooperativeMatrixLayoutRowMajor)
#else
#define READ_A(a, slot, step, i)                                                                              \
  coopMatLoad(a, tiles, A_AT(slot) + (step) * UNIT_K * A_PITCH + WORDS(subgroup_m + (i) * UNIT_M), A_PITCH,   \
              gl_CooperativeMatrixLayoutColumnMajor)
#endif
#if params_product_b_major_k
#define READ_B(b, slot, step, j)                                                                              \
  coopMatLoad(b, tiles, B_AT(slot) + (subgroup_n + (j) * UNIT_N) * B_PITCH + WORDS((step) * UNIT_K), B_PITCH, \
              gl_CooperativeMatrixLayoutColumnMajor)
#else
#define READ_B(b, slot, step, j)                                                                              \
  coopMatLoad(b, tiles, B_AT(slot) + (step) * UNIT_K * B_PITCH + WORDS(subgroup_n + (j) * UNIT_N), B_PITCH,   \
              gl_CooperativeMatrixLayoutRowMajor)
#endif
#define MULTIPLY(slot)                                                                            \
  [[unroll]] for (i32 step = 0; step < K_STEPS; ++step) {                                         \
    MATRIX_A(TYPE) a[UNITS_M];                                                                    \
    [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) READ_A(a[i], slot, step, i);                     \
    [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) {                                                \
      MATRIX_B(B_TYPE) b;                                                                         \
      READ_B(b, slot, step, j);                                                                   \
      [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) acc[i][j] = coopMatMulAdd(a[i], b, acc[i][j]); \
    }                                                                                             \
  }

#if params_direct
  // The products of 64 bytes of k, whose operands' next ones are loaded behind them.
#define MULTIPLY_LINE(g, fetch_a, fetch_b)                                                                  \
  [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) {                                                            \
    MATRIX_B(B_TYPE) b, b_high;                                                                             \
    SET(b, next_b[g][j], 0)                                                                                 \
    [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) acc[i][j] = coopMatMulAdd(a[i], b, acc[i][j]);             \
    SET(b_high, next_b[g][j], 1)                                                                            \
    [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) acc[i][j] = coopMatMulAdd(a_high[i], b_high, acc[i][j]);   \
    fetch_b                                                                                                 \
  }                                                                                                         \
  fetch_a
#if params_direct == 2
  // The last turn loads its tile again, which nothing multiplies.
  if (params_product_k != 0 || SIZE_K > 0) {
    [[unroll]] for (i32 g = 0; g < LINES; ++g) {
      FETCH_A(slice, g)
      [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) { FETCH_B(slice, g, j) }
    }
  }
  [[dont_unroll]] for (i32 turn = 1; turn <= K_TURNS; ++turn) {
    i32 tile = LEAST(turn, K_TURNS - 1) * params_slices + slice;
    NEXT_A(turn < K_TURNS)
    NEXT_B(turn < K_TURNS)
    [[unroll]] for (i32 g = 0; g < LINES; ++g) {
      MATRIX_A(TYPE) a[UNITS_M], a_high[UNITS_M];
      [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) {
        SET(a[i], next_a[g][i], 0)
        SET(a_high[i], next_a[g][i], 1)
      }
      MULTIPLY_LINE(g, FETCH_A(tile, g), FETCH_B(tile, g, j))
    }
  }
#else
  // The last turns load the last tile again, and store what nothing reads.
  if (params_product_k != 0 || SIZE_K > 0) {
    FETCH_A(slice)
    [[unroll]] for (i32 g = 0; g < LINES; ++g)
      [[unroll]] for (i32 j = 0; j < UNITS_N; ++j) { FETCH_B(slice, g, j) }
    PUT_A(0)
  }
  barrier();
  [[dont_unroll]] for (i32 first = 0; first < K_TURNS; first += STAGES) {
    [[unroll]] for (i32 t = 0; t < STAGES; ++t)
      if ((params_product_k != 0 && K_TURNS % STAGES == 0) || first + t < K_TURNS) {
        i32 tile = LEAST(first + t + 1, K_TURNS - 1) * params_slices + slice;
        NEXT_A(first + t + 1 < K_TURNS)
        NEXT_B(first + t + 1 < K_TURNS)
        FETCH_A(tile)
        [[unroll]] for (i32 g = 0; g < LINES; ++g) {
          MATRIX_A(TYPE) a[UNITS_M], a_high[UNITS_M];
          [[unroll]] for (i32 i = 0; i < UNITS_M; ++i) {
            READ_A(a[i], t, g, 0, i)
            READ_A(a_high[i], t, g, 1, i)
          }
          MULTIPLY_LINE(g, , FETCH_B(tile, g, j))
        }
        if (STAGES == 1) barrier();
        PUT_A((t + 1) % STAGES)
        barrier();
      }
  }
#endif
#elif params_paired
  // The last turns load the last pair again, and store what nothing reads.
  if (params_product_k != 0 || SIZE_K > 0) {
    FETCH_A(0)
    FETCH_B(0)
    PUT_FIRST_A
    PUT_SECOND_A
    PUT_FIRST_B
  }
  barrier();
  [[dont_unroll]] for (i32 pair = 1; pair <= K_TURNS; ++pair) {
    FETCH_A(LEAST(pair, K_TURNS - 1))
    MULTIPLY(0)
    barrier();
    PUT_SECOND_B
    PUT_FIRST_A
    barrier();
    FETCH_B(LEAST(pair, K_TURNS - 1))
    MULTIPLY(1)
    barrier();
    PUT_FIRST_B
    PUT_SECOND_A
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
  // A thread's steps, each of which is a segment. What their epilogues load is on its way before the first sums are staged,
  // since loads of a later slab would wait for the stores of this one; what is too much for registers, before its slab's.
#define SEGMENTS (LINE / SEGMENT)
#define STEP(step) (lane + (slice + (step) * params_slices) * params_subgroup)
#define STEP_LINE(slab, step) (first_line + (slab) * SLAB_LINES + STEP(step) / SEGMENTS)
#define STEP_PART(step) (first_column / SEGMENT + STEP(step) % SEGMENTS)
#if params_held_columns
#define HELD_COLUMNS , columns
  u32 columns[params_held_columns];
  hold_columns(TCC_BUFFERS batch, first_line, STEP_PART(0), columns);
#else
#define HELD_COLUMNS
#endif
#define SUMS_OF_THREAD (params_sizes_subgroup_m * params_sizes_subgroup_n / params_subgroup)
#define HELD_AHEAD (SLABS * params_sizes_steps * params_held + SUMS_OF_THREAD <= 200)
#if params_held
#define EACH_STEP(step) [[unroll]] for (i32 step = 0; step < params_sizes_steps; ++step)
#define HOLD_SLAB(slab, words) \
  EACH_STEP(step) hold(TCC_BUFFERS batch, STEP_LINE(slab, step), STEP_PART(step), words[step]);
#if HELD_AHEAD
#define HELD(step) , held[slab][step]
  u32 held[SLABS][params_sizes_steps][params_held];
  [[unroll]] for (i32 slab = 0; slab < SLABS; ++slab) { HOLD_SLAB(slab, held[slab]) }
#else
#define HELD(step) , held[step]
#endif
#else
#define HELD(step)
#define EACH_STEP(step) [[dont_unroll]] for (i32 step = 0; step < params_sizes_steps; ++step)
#endif
  i32 first_staged = subgroup * SLAB_WORDS, staged = first_staged + slice * (SUBGROUPS * SLAB_WORDS);
  [[unroll]] for (i32 slab = 0; slab < SLABS; ++slab) {
    if (slab > 0) SLICES_MEET;
#if params_held && !HELD_AHEAD
    u32 held[params_sizes_steps][params_held];
    HOLD_SLAB(slab, held)
#endif
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
    EACH_STEP(step) {
      i32 n = STEP(step);
      if (n >= SLAB_LINES * SEGMENTS) break;
      i32 line = n / SEGMENTS, column = n % SEGMENTS * SEGMENT;
      i32 at = first_staged + line * LINE_PITCH;
      ACC sums[SEGMENT];
      EACH_STAGED_SUM(at, column, v, sum, sums[v] = sum)
      [[unroll]] for (i32 other = 1; other < params_slices; ++other) {
        EACH_STAGED_SUM(at + other * (SUBGROUPS * SLAB_WORDS), column, v, sum, sums[v] += sum)
      }
      epilogue(TCC_BUFFERS batch, STEP_LINE(slab, step), STEP_PART(step), sums HELD_COLUMNS HELD(step));
    }
  }
}
