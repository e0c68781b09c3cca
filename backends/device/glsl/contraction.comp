// Matrix products on FMA units: out[row, col] = sum over k of A[row, k] * B[k, col], per batch.
//
// A workgroup computes a BLOCK_M x BLOCK_N tile, a thread THREAD_M x THREAD_N of it in registers. Tiles of A and B go
// through shared memory, k-major, two of each: the next is loaded into registers while this one is multiplied.
// SLICES groups of threads share the products of each tile; their sums meet at the end, and each thread finishes its share
// of the segments.
// Hooks: load_a, load_b (index maps, prologues, bounds), epilogue (a row segment of SEGMENT results).
// Long sums are folded every FOLD_TILES tiles into a second set of accumulators, which keeps f32 results within a few
// ulp of exact.
// Where both operands are 8-bit integers and the device sums four of their products by one instruction, PACK = 4
// neighbours along k are one word of the tiles; k then counts words.
#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define ACC f32
#define INDEX i32
#define BLOCK_M 64
#define BLOCK_N 64
#define BLOCK_K 16
#define THREAD_M 8
#define THREAD_N 4
#define SLICES 1
#define SIZE_K 1024
#define TILES_M 16
#define TILES_N 16
#define A_VECTOR 4
#define A_ALONG_K 1
#define B_VECTOR 4
#define B_ALONG_K 0
#define SEGMENT 4
#define FOLD_TILES 8
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 256
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD gl_LocalInvocationIndex
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; };
layout(local_size_x = WORKGROUP) in;
void load_a(i32 batch, i32 at, i32 k, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0.v[at * SIZE_K + k * 4 + i];
}
void load_b(i32 batch, i32 at, i32 k, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b1.v[k * BLOCK_N * TILES_N + at * 4 + i];
}
void epilogue(i32 batch, i32 row, i32 part, in f32 acc[4]) {
  for (i32 i = 0; i < 4; ++i) b2.v[row * BLOCK_N * TILES_N + part * 4 + i] = acc[i];
}
#endif

#ifndef PACK
#define PACK 1
#endif
// Words that a thread moves at once.
#if PACK == 1
#define WORD ACC
#define A_WORDS A_VECTOR
#define B_WORDS B_VECTOR
#define A_SHIFTED 0
#define B_SHIFTED 0
#if FLOAT_ACC
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((c) + (a) * (b))
#endif
#else
#define WORD u32
#define A_WORDS (A_ALONG_K == 0 ? A_VECTOR : A_VECTOR < PACK ? 1 : A_VECTOR / PACK)
#define B_WORDS (B_ALONG_K == 0 ? B_VECTOR : B_VECTOR < PACK ? 1 : B_VECTOR / PACK)
// SPIR-V's instructions: compilers of GLSL that know no integer dot products pass them on. The last operand says that
// words are four bytes.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
i32 dot_signed(u32 a, u32 b, spirv_literal i32 packing);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4451)
u32 dot_unsigned(u32 a, u32 b, spirv_literal i32 packing);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4452)
i32 dot_mixed(u32 signed_bytes, u32 unsigned_bytes, spirv_literal i32 packing);
// A_SIGNED and B_SIGNED: whether the bytes are signed. Where the device has no instruction for signs that differ
// (SHIFTS_SIGNS), 128 is subtracted from the unsigned bytes, which makes them signed, and the others' sums make up for it.
#ifndef SHIFTS_SIGNS
#define SHIFTS_SIGNS 0
#endif
#define A_SHIFTED (SHIFTS_SIGNS != 0 && A_SIGNED == 0 && B_SIGNED != 0)
#define B_SHIFTED (SHIFTS_SIGNS != 0 && A_SIGNED != 0 && B_SIGNED == 0)
#define ONES 0x01010101u
#if (A_SIGNED != 0 && B_SIGNED != 0) || A_SHIFTED || B_SHIFTED
#define MULTIPLY_ADD(a, b, c) ((c) + ACC(dot_signed(a, b, 0)))
#elif A_SIGNED != 0
#define MULTIPLY_ADD(a, b, c) ((c) + ACC(dot_mixed(a, b, 0)))
#elif B_SIGNED != 0
#define MULTIPLY_ADD(a, b, c) ((c) + ACC(dot_mixed(b, a, 0)))
#else
#define MULTIPLY_ADD(a, b, c) ((c) + ACC(dot_unsigned(a, b, 0)))
#endif
#endif
#define K_TILES ((SIZE_K + BLOCK_K - 1) / BLOCK_K)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
// Threads of a slice. Neighbouring ones, a subgroup or a part of one, cover a tile that is about square, so that many of
// them read the same words.
#define THREADS_M (BLOCK_M / THREAD_M)
#define THREADS_N (BLOCK_N / THREAD_N)
#define SLICE_THREADS (THREADS_M * THREADS_N)
#define LANES_M LEAST(THREADS_M, 32 / LEAST(THREADS_N, 8))
#define LANES_N LEAST(THREADS_N, 32 / LANES_M)
#define PAIRED (LANES_M > 1 ? 2 : 1)
#define WARPS_N (THREADS_N / LANES_N)
// A thread's rows and columns are groups of neighbours; those of its neighbours lie in between.
#define ROWS LEAST(THREAD_M, 4)
#define SEGMENTS (THREAD_N / SEGMENT)
#define ROW_OF(i) ((i) / ROWS * LANES_M * ROWS + (i) % ROWS)
#define SLICE_K (BLOCK_K / SLICES)
// Segments that a thread finishes.
#define STEPS (THREAD_M * SEGMENTS / SLICES)
// Rows of the shared tiles are padded so that the transposing stores of along-k vectors hit different banks.
#define STRIDE_A (BLOCK_M + 4)
#define STRIDE_B (BLOCK_N + 4)
// Moves of a tile, and how many each thread makes.
#define A_MOVES (BLOCK_M * BLOCK_K / A_WORDS)
#define B_MOVES (BLOCK_N * BLOCK_K / B_WORDS)
#define A_STEPS ((A_MOVES + WORKGROUP - 1) / WORKGROUP)
#define B_STEPS ((B_MOVES + WORKGROUP - 1) / WORKGROUP)
// Along k a warp moves eight products of each of some rows: whole sectors of memory, and different banks of shared memory.
// Number n of an operand's moves is at `K_OF` in k and at `AT_OF` in rows or columns.
#define K_OF(n, NEAR, BLOCK) ((n) % NEAR + (n) / (NEAR * BLOCK) * NEAR)
#define AT_OF(n, NEAR, BLOCK) ((n) / NEAR % BLOCK)
#define A_NEAR LEAST(BLOCK_K / A_WORDS, A_WORDS < 8 ? 8 / A_WORDS : 1)
#define A_PER_M (BLOCK_M / A_WORDS)
#define B_NEAR LEAST(BLOCK_K / B_WORDS, B_WORDS < 8 ? 8 / B_WORDS : 1)
#define B_PER_N (BLOCK_N / B_WORDS)

#define TILE_A (BLOCK_K * STRIDE_A)
#define TILE_B (BLOCK_K * STRIDE_B)
#define TILES (2 * (TILE_A + TILE_B))
// Sums of slices meet in the tiles' memory, as many segments at once as it holds.
#define SLICES_AT_ONCE LEAST(STEPS, TILES / (WORKGROUP * SLICES * SEGMENT))
shared WORD tiles[TILES];

TCC_ENTRY {
  i32 thread = i32(TCC_THREAD);
  INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  i32 band = 8;
  i32 in_batch = i32(block % (TILES_M * TILES_N));
  i32 batch = i32(block / (TILES_M * TILES_N));
  i32 band_start = in_batch / (band * TILES_N) * band;
  i32 band_rows = TILES_M - band_start < band ? TILES_M - band_start : band;
  i32 in_band = in_batch % (band * TILES_N);
  i32 row0 = (band_start + in_band % band_rows) * BLOCK_M;
  i32 col0 = in_band / band_rows * BLOCK_N;
  i32 slice = thread / SLICE_THREADS;
  i32 group = thread % SLICE_THREADS / (LANES_M * LANES_N);
  i32 lane = thread % (LANES_M * LANES_N);
  i32 lane_m = lane / (PAIRED * LANES_N) * PAIRED + lane % PAIRED;
  i32 lane_n = lane / PAIRED % LANES_N;
  i32 thread_row = group / WARPS_N * LANES_M * THREAD_M + lane_m * ROWS;
  i32 thread_part = group % WARPS_N * LANES_N * SEGMENTS + lane_n;

  ACC acc[THREAD_M][THREAD_N];
#if FOLD_TILES
  ACC total[THREAD_M][THREAD_N];
#endif
  [[unroll]] for (i32 i = 0; i < THREAD_M; ++i) {
    [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) {
      acc[i][j] = ACC(0);
#if FOLD_TILES
      total[i][j] = ACC(0);
#endif
    }
  }

#if A_SHIFTED || B_SHIFTED
  // Sums of the signed operand's bytes.
#define SKEWS (A_SHIFTED ? THREAD_N : THREAD_M)
  ACC skew[SKEWS];
  [[unroll]] for (i32 i = 0; i < SKEWS; ++i) skew[i] = ACC(0);
#endif

  WORD next_a[A_STEPS][A_WORDS];
  WORD next_b[B_STEPS][B_WORDS];

// One operand's words at (at, k), both counted in moves, through its hook.
#if PACK == 1
#define LOAD(load, WORDS, VECTOR, ALONG_K, SHIFTED, at, k, to) load(TCC_BUFFERS batch, at, k, to)
#else
#define LOAD(load, WORDS, VECTOR, ALONG_K, SHIFTED, at, k, to)                                                 \
  [[unroll]] for (i32 w = 0; w < WORDS; ++w) to[w] = 0u;                                                       \
  [[unroll]] for (i32 part = 0; part < WORDS * PACK / VECTOR; ++part) {                                        \
    ACC bytes[VECTOR];                                                                                         \
    if (ALONG_K != 0)                                                                                          \
      load(TCC_BUFFERS batch, at, (k) * (WORDS * PACK / VECTOR) + part, bytes);                                \
    else                                                                                                       \
      load(TCC_BUFFERS batch, at, (k) * PACK + part, bytes);                                                   \
    [[unroll]] for (i32 v = 0; v < VECTOR; ++v) {                                                              \
      i32 number = ALONG_K != 0 ? part * VECTOR + v : part;                                                    \
      to[ALONG_K != 0 ? number / PACK : v] |= (u32(bytes[v]) & 0xffu) << number % PACK * 8;                    \
    }                                                                                                          \
  }                                                                                                            \
  if (SHIFTED) [[unroll]] for (i32 w = 0; w < WORDS; ++w) to[w] ^= 128u * ONES;
#endif

#define FETCH(k0)                                                                                              \
  [[unroll]] for (i32 s = 0; s < A_STEPS; ++s) {                                                               \
    i32 n = thread + s * WORKGROUP;                                                                            \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                                             \
      i32 at = A_ALONG_K != 0 ? row0 + AT_OF(n, A_NEAR, BLOCK_M) : row0 / A_WORDS + n % A_PER_M;               \
      i32 k = A_ALONG_K != 0 ? (k0) / A_WORDS + K_OF(n, A_NEAR, BLOCK_M) : (k0) + n / A_PER_M;                 \
      LOAD(load_a, A_WORDS, A_VECTOR, A_ALONG_K, A_SHIFTED, at, k, next_a[s]);                                 \
    }                                                                                                          \
  }                                                                                                            \
  [[unroll]] for (i32 s = 0; s < B_STEPS; ++s) {                                                               \
    i32 n = thread + s * WORKGROUP;                                                                            \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                                             \
      i32 at = B_ALONG_K != 0 ? col0 + AT_OF(n, B_NEAR, BLOCK_N) : col0 / B_WORDS + n % B_PER_N;               \
      i32 k = B_ALONG_K != 0 ? (k0) / B_WORDS + K_OF(n, B_NEAR, BLOCK_N) : (k0) + n / B_PER_N;                 \
      LOAD(load_b, B_WORDS, B_VECTOR, B_ALONG_K, B_SHIFTED, at, k, next_b[s]);                                 \
    }                                                                                                          \
  }

#define PUT(slot)                                                                                              \
  [[unroll]] for (i32 s = 0; s < A_STEPS; ++s) {                                                               \
    i32 n = thread + s * WORKGROUP;                                                                            \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                                             \
      [[unroll]] for (i32 v = 0; v < A_WORDS; ++v) {                                                           \
        if (A_ALONG_K != 0)                                                                                    \
          tiles[(slot) * TILE_A + (K_OF(n, A_NEAR, BLOCK_M) * A_WORDS + v) * STRIDE_A + AT_OF(n, A_NEAR, BLOCK_M)] = next_a[s][v]; \
        else                                                                                                   \
          tiles[(slot) * TILE_A + n / A_PER_M * STRIDE_A + n % A_PER_M * A_WORDS + v] = next_a[s][v];          \
      }                                                                                                        \
    }                                                                                                          \
  }                                                                                                            \
  [[unroll]] for (i32 s = 0; s < B_STEPS; ++s) {                                                               \
    i32 n = thread + s * WORKGROUP;                                                                            \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                                             \
      [[unroll]] for (i32 v = 0; v < B_WORDS; ++v) {                                                           \
        if (B_ALONG_K != 0)                                                                                    \
          tiles[2 * TILE_A + (slot) * TILE_B + (K_OF(n, B_NEAR, BLOCK_N) * B_WORDS + v) * STRIDE_B + AT_OF(n, B_NEAR, BLOCK_N)] = next_b[s][v]; \
        else                                                                                                   \
          tiles[2 * TILE_A + (slot) * TILE_B + n / B_PER_N * STRIDE_B + n % B_PER_N * B_WORDS + v] = next_b[s][v]; \
      }                                                                                                        \
    }                                                                                                          \
  }

  FETCH(0)
  PUT(0)
  barrier();
  for (i32 tile = 0; tile < K_TILES; ++tile) {
    i32 slot = tile & 1;
    // Loads in a branch may sink to the stores behind the products. The last tile is fetched again.
    FETCH(LEAST(tile + 1, K_TILES - 1) * BLOCK_K)
    [[unroll]] for (i32 part = 0; part < SLICE_K; ++part) {
      i32 k = slice * SLICE_K + part;
      WORD a[THREAD_M];
      WORD b[THREAD_N];
      [[unroll]] for (i32 i = 0; i < THREAD_M; ++i) a[i] = tiles[slot * TILE_A + k * STRIDE_A + thread_row + ROW_OF(i)];
      [[unroll]] for (i32 j = 0; j < THREAD_N; ++j)
        b[j] = tiles[2 * TILE_A + slot * TILE_B + k * STRIDE_B + (j / SEGMENT * LANES_N + thread_part) * SEGMENT + j % SEGMENT];
      [[unroll]] for (i32 i = 0; i < THREAD_M; ++i)
        [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) acc[i][j] = MULTIPLY_ADD(a[i], b[j], acc[i][j]);
#if A_SHIFTED
      [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) skew[j] += ACC(dot_signed(b[j], ONES, 0));
#elif B_SHIFTED
      [[unroll]] for (i32 i = 0; i < THREAD_M; ++i) skew[i] += ACC(dot_signed(a[i], ONES, 0));
#endif
    }
#if FOLD_TILES
    if (tile % FOLD_TILES == FOLD_TILES - 1) {
      [[unroll]] for (i32 i = 0; i < THREAD_M; ++i)
        [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) {
          total[i][j] += acc[i][j];
          acc[i][j] = ACC(0);
        }
    }
#endif
    PUT(1 - slot)
    barrier();
  }

#if FOLD_TILES
  [[unroll]] for (i32 i = 0; i < THREAD_M; ++i)
    [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) acc[i][j] += total[i][j];
#endif
#if A_SHIFTED || B_SHIFTED
  [[unroll]] for (i32 i = 0; i < THREAD_M; ++i)
    [[unroll]] for (i32 j = 0; j < THREAD_N; ++j) acc[i][j] += skew[A_SHIFTED ? j : i] * ACC(128);
#endif
  // Sums by segments: those that this thread has of its rows, row after row.
#define SUM(q, j) acc[(q) / SEGMENTS][(q) % SEGMENTS * SEGMENT + (j)]
#if SLICES == 1
  [[unroll]] for (i32 q = 0; q < STEPS; ++q) {
    ACC sum[SEGMENT];
    [[unroll]] for (i32 j = 0; j < SEGMENT; ++j) sum[j] = SUM(q, j);
    epilogue(TCC_BUFFERS batch, row0 + thread_row + ROW_OF(q / SEGMENTS), col0 / SEGMENT + thread_part + q % SEGMENTS * LANES_N, sum);
  }
#else
  // Threads of the same place in each slice share its segments.
  i32 place = thread % SLICE_THREADS;
  [[unroll]] for (i32 first = 0; first < STEPS; first += SLICES_AT_ONCE) {
    if (first > 0) barrier();
    [[unroll]] for (i32 q = 0; q < SLICES_AT_ONCE * SLICES; ++q)
      if (first * SLICES + q < THREAD_M * SEGMENTS) {
        [[unroll]] for (i32 j = 0; j < SEGMENT; ++j)
          tiles[((q * SLICES + slice) * SLICE_THREADS + place) * SEGMENT + j] = WORD(SUM(first * SLICES + q, j));
      }
    barrier();
    [[unroll]] for (i32 own = 0; own < SLICES_AT_ONCE; ++own)
      if (first + own < STEPS) {
        ACC sum[SEGMENT];
        [[unroll]] for (i32 j = 0; j < SEGMENT; ++j) sum[j] = ACC(0);
        [[unroll]] for (i32 other = 0; other < SLICES; ++other)
          [[unroll]] for (i32 j = 0; j < SEGMENT; ++j)
            sum[j] += ACC(tiles[(((own * SLICES + slice) * SLICES + other) * SLICE_THREADS + place) * SEGMENT + j]);
        i32 q = (first + own) * SLICES + slice;
        epilogue(TCC_BUFFERS batch, row0 + thread_row + ROW_OF(q / SEGMENTS), col0 / SEGMENT + thread_part + q % SEGMENTS * LANES_N, sum);
      }
  }
#endif
}
