// Matrix products on mma.sync tensor cores, sm_80 and later: out[row, col] = sum over k of A[row, k] * B[k, col], per
// batch. 16-bit operands or tf32, f32 accumulators; bytes, 32-bit integers that wrap.
//
// A workgroup computes a BLOCK_M x BLOCK_N tile, a warp (BLOCK_M / WARPS_M) x (BLOCK_N / WARPS_N) of it. Tiles of A and
// B pass through STAGES slots of swizzled shared memory, STAGES - 1 tiles of k ahead of their use; fragments are read
// one k step ahead.
//
// OPERANDS 0 bf16, 1 f16, 2 tf32 (f32 in memory, the hardware reads the upper 19 bits), 3 bytes, A_TYPE and B_TYPE
// their signs: "s8" or "u8"; both are K-major. ACC is the accumulators' type: f32; i32 or u32. x_LOAD, for A and B:
//   0  vector_x(buffers, batch, at, k) is the offset in X_BUFFER, in elements, of X_VECTOR elements (4, 8 or 16 bytes,
//      so aligned) which cp.async copies; what lies beyond the matrix is never read and counts as zeros.
//   1  load_x(buffers, batch, at, k, v) computes X_VECTOR elements as ACC: prologues, convolutions. Guards itself. Of
//      bytes they may run across k (X_VECTOR_ALONG_K 0: `at` counts vectors), and are turned on their way.
//   2  row_x(buffers, batch, line) is the offset in X_BUFFER of a line's first element, of any alignment: aligned
//      16-byte words are read and shifted, and none that holds nothing of the line.
// X_MAJOR_K 1: memory is contiguous along k; `at` is a row (of B: a column), `k` counts vectors, a line is a row.
// X_MAJOR_K 0: contiguous along m (of B: n); `at` counts vectors, `k` is an element of k, a line is one k.
// epilogue(buffers, batch, row, part, acc) gets SEGMENT (8, 4, 2 or 1) neighbouring columns from SEGMENT * part on, and
// guards itself; where SWAPPED, neighbouring rows of column `row`: the operands have changed sides, so that results lie
// along m.
//
// The launch: GRID = BATCHES * tiles workgroups of WORKGROUP = 32 * WARPS_M * WARPS_N threads. Dynamic shared memory is
// the larger of STAGES * BLOCK_K * (BLOCK_M + BLOCK_N) * (bytes of an element) and WARPS_M * WARPS_N * 64 * LINE, with
// LINE = BLOCK_N / WARPS_N + 8 or, SWAPPED, BLOCK_M / WARPS_M + 4. Warp tiles are multiples of 16 x 16, BLOCK_K holds
// 64 or 128 bytes. Tiles are walked in bands of BAND along m. Where x_LOAD is not 0, STAGES is at least 3, and warp
// tiles of at most 64 x 32 leave registers for the tile on its way.
#include "unaligned.cuh"

#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define OPERANDS 0
#define ACC f32
#define SIZE_M 1024
#define SIZE_N 1024
#define SIZE_K 1024
#define BATCHES 1
#define BLOCK_M 128
#define BLOCK_N 128
#define BLOCK_K 32
#define WARPS_M 2
#define WARPS_N 2
#define STAGES 4
#define BAND 8
#define SEGMENT 8
#define SWAPPED 0
#define A_LOAD 0
#define A_MAJOR_K 1
#define A_VECTOR 8
#define A_BUFFER b0
#define B_LOAD 0
#define B_MAJOR_K 1
#define B_VECTOR 8
#define B_BUFFER b1
#define WORKGROUP 128
#define GRID 64
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) gemm(const u16* b0, const u16* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ i64 vector_a(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * SIZE_K + k * 8;
}
static __device__ __forceinline__ i64 vector_b(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * SIZE_K + k * 8;
}
static __device__ __forceinline__ void epilogue(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 row, i32 part,
                                                const f32 (&acc)[8]) {
  for (i32 i = 0; i < 8; ++i) b2[row * SIZE_N + part * 8 + i] = acc[i];
}
#endif

#if OPERANDS == 2
typedef f32 Element;
#elif OPERANDS == 3
typedef u8 Element;
#else
typedef u16 Element;
#endif

constexpr i32 CHUNK = 16 / sizeof(Element);  // elements of 16 bytes, the unit of swizzling and of ldmatrix rows
constexpr i32 WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr i32 FRAGMENTS_M = WARP_M / 16, FRAGMENTS_N = WARP_N / 8;
constexpr i32 K_STEPS = BLOCK_K / (2 * CHUNK);  // an mma takes two chunks of k
constexpr i32 K_TILES = (SIZE_K + BLOCK_K - 1) / BLOCK_K;
constexpr i32 TILES_M = (SIZE_M + BLOCK_M - 1) / BLOCK_M, TILES_N = (SIZE_N + BLOCK_N - 1) / BLOCK_N;
static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "warp tiles are multiples of 16 x 16");
static_assert(K_STEPS == 2 || K_STEPS == 4, "BLOCK_K holds 64 or 128 bytes");
static_assert(OPERANDS != 3 || (A_MAJOR_K && B_MAJOR_K), "bytes are K-major");
static_assert(STAGES >= 2, "the next tile is loaded while this one is multiplied");
// The last piece is stored after the barrier that ends its tile's k steps, so that one more must come before its use.
static_assert(STAGES >= 3 || (A_LOAD == 0 && B_LOAD == 0), "tiles that come through registers need three slots");

// A tile of an operand in shared memory: ROWS lines along the axis that is contiguous in memory, each of whole chunks.
// Chunks of neighbouring rows are permuted so that the eight rows of an ldmatrix lie in different banks, and likewise
// the four k x eight m words that a warp reads of a tf32 tile along m.
template <bool MAJOR_K, i32 BLOCK>
struct Tile {
  static constexpr i32 ROWS = MAJOR_K ? BLOCK : BLOCK_K, COLUMNS = MAJOR_K ? BLOCK_K : BLOCK;
  static constexpr i32 ROW_BYTES = COLUMNS * sizeof(Element), BYTES = ROWS * ROW_BYTES;
  static constexpr i32 CHUNKS = COLUMNS / CHUNK;
  static constexpr i32 PERMUTED = CHUNKS % 8 == 0 ? 8 : CHUNKS % 4 == 0 ? 4 : 2;
  static constexpr bool WORDS = !MAJOR_K && OPERANDS == 2;  // read word by word: ldmatrix transposes only 16 bits

  // What is added (exclusive or) to the chunk numbers of a row.
  TCC_FN u32 swizzle(u32 row) { return (WORDS ? 2 * row : row / (8 / PERMUTED)) & (PERMUTED - 1); }
  // Byte offset of an element.
  TCC_FN u32 offset(u32 row, u32 column) {
    return row * ROW_BYTES + (column / CHUNK ^ swizzle(row)) * 16 + column % CHUNK * u32(sizeof(Element));
  }
};
typedef Tile<A_MAJOR_K, BLOCK_M> TileA;
typedef Tile<B_MAJOR_K, BLOCK_N> TileB;
constexpr u32 STAGE_BYTES = TileA::BYTES + TileB::BYTES;

// A tile is moved in K_STEPS pieces, one during each k step of the tile that is multiplied meanwhile: loads are spread
// over time, and those that pass through registers need few of them. The vectors of a piece, per thread:
template <typename Tile, i32 VECTOR>
constexpr i32 VECTORS =
    (Tile::BYTES / i32(sizeof(Element)) / VECTOR + WORKGROUP * K_STEPS - 1) / (WORKGROUP * K_STEPS);
// Calls f(i, row, column) for each of them.
template <typename Tile, i32 VECTOR, typename F>
TCC_FN void each_vector(u32 thread, i32 piece, F f) {
  constexpr u32 per_row = Tile::COLUMNS / VECTOR, all = Tile::ROWS * per_row;
#pragma unroll
  for (i32 i = 0; i < VECTORS<Tile, VECTOR>; ++i) {
    const u32 first = u32(piece * VECTORS<Tile, VECTOR> + i) * WORKGROUP;
    if (all % (WORKGROUP * K_STEPS) != 0 && thread + first >= all) continue;
    if (WORKGROUP % per_row == 0)  // the same column in all steps
      f(i, i32(thread / per_row + first / per_row), i32(thread % per_row * VECTOR));
    else
      f(i, i32((thread + first) / per_row), i32((thread + first) % per_row * VECTOR));
  }
}

// How many of `vector` elements from (free, k) on are inside the matrix; `size` is its extent across k.
template <bool MAJOR_K, i32 SIZE, i32 BLOCK, i32 VECTOR>
TCC_FN i32 elements_inside(i32 free, i32 k) {
  const bool row_inside = MAJOR_K ? SIZE % BLOCK == 0 || free < SIZE : SIZE_K % BLOCK_K == 0 || k < SIZE_K;
  i32 count = VECTOR;
  if (MAJOR_K ? SIZE_K % BLOCK_K != 0 : SIZE % BLOCK != 0) {
    const i32 left = MAJOR_K ? SIZE_K - k : SIZE - free;
    count = left < 0 ? 0 : left < VECTOR ? left : VECTOR;
  }
  return row_inside ? count : 0;
}

// Copies BYTES to shared memory, the last BYTES - `inside` of them as zeros.
template <i32 BYTES>
TCC_FN void copy_async(u32 shared, const void* global, i32 inside) {
  const u64 from = __cvta_generic_to_global(global);
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside));
}
TCC_FN void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until all but the newest PENDING groups of copies have arrived, and for all threads.
template <i32 PENDING>
TCC_FN void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING));
  __syncthreads();
}

template <bool TRANSPOSE>
TCC_FN void load_matrices(u32 shared, u32& r0, u32& r1, u32& r2, u32& r3) {
  if (TRANSPOSE)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(shared));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(shared));
}
TCC_FN u32 load_word(u32 shared) {
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(shared));
  return word;
}

#if OPERANDS == 0
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define PACK(low, high) TCC_PACK_BF16(low, high)
#elif OPERANDS == 1
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define PACK(low, high) TCC_PACK_F16(low, high)
#elif OPERANDS == 2
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#else
#define MMA "mma.sync.aligned.m16n8k32.row.col.s32." A_TYPE "." B_TYPE ".s32"
#endif
#if OPERANDS == 3
#define ACC_REGISTER "+r"
#else
#define ACC_REGISTER "+f"
#endif
TCC_FN void mma(ACC (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : ACC_REGISTER(c[0]), ACC_REGISTER(c[1]), ACC_REGISTER(c[2]), ACC_REGISTER(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Of accumulators, as shared memory is written.
struct alignas(8) Pair {
  ACC x, y;
};

#if (A_LOAD == 1 || B_LOAD == 1) && OPERANDS == 3
// Pieces of a computed tile: DEPTH neighbours along k of HEIGHT rows, by several loads. Those whose vectors run across
// k become words along k as they are stored. Neighbouring lanes have pieces along k and along the rows, between the
// needs of loads (whole sectors) and of stores (different banks).
template <typename Tile, i32 VECTOR, bool ALONG_K>
struct Bytes {
  static constexpr i32 HEIGHT = ALONG_K ? 1 : VECTOR;
  static constexpr i32 DEPTH = ALONG_K ? (VECTOR < 4 ? 4 : VECTOR) : VECTOR < 4 ? 8 : 4;
  static constexpr i32 LOADS = ALONG_K ? DEPTH / VECTOR : DEPTH;
  static constexpr i32 ACROSS = Tile::ROWS / HEIGHT, ALONG = Tile::COLUMNS / DEPTH;
  static constexpr i32 LOW = ALONG_K ? ALONG : VECTOR == 1 ? 1 : VECTOR == 2 ? 4 : 8;
  static constexpr i32 COUNT = (ACROSS * ALONG + WORKGROUP * K_STEPS - 1) / (WORKGROUP * K_STEPS);
  ACC values[COUNT][DEPTH][HEIGHT];

  // Calls f(i, row, column) for each of this thread's in a k step.
  template <typename F>
  static __device__ __forceinline__ void each(i32 thread, i32 step, F f) {
#pragma unroll
    for (i32 i = 0; i < COUNT; ++i) {
      const i32 n = (step * COUNT + i) * WORKGROUP + thread;
      if (ACROSS * ALONG % (WORKGROUP * K_STEPS) != 0 && n >= ACROSS * ALONG) continue;
      f(i, n / LOW % ACROSS * HEIGHT, (n / (LOW * ACROSS) * LOW + n % LOW) * DEPTH);
    }
  }

  // `load`(at, k, v), as the hooks count; the tile begins at (row0, k0).
  template <typename Load>
  __device__ __forceinline__ void fetch(i32 thread, i32 step, i32 row0, i32 k0, Load load) {
    each(thread, step, [&](i32 i, i32 r, i32 c) {
#pragma unroll
      for (i32 n = 0; n < LOADS; ++n) {
        ACC v[VECTOR];
        if (ALONG_K)
          load(row0 + r, (k0 + c) / VECTOR + n, v);
        else
          load((row0 + r) / VECTOR, k0 + c + n, v);
#pragma unroll
        for (i32 j = 0; j < VECTOR; ++j) (ALONG_K ? values[i][n * VECTOR + j][0] : values[i][n][j]) = v[j];
      }
    });
  }

  __device__ __forceinline__ void store(i32 thread, i32 step, unsigned char* tile) const {
    each(thread, step, [&](i32 i, i32 r, i32 c) {
      const ACC(&v)[DEPTH][HEIGHT] = values[i];
      auto word = [&](i32 row, i32 k) {
        return u32(u8(v[k][row])) | u32(u8(v[k + 1][row])) << 8 | u32(u8(v[k + 2][row])) << 16 |
               u32(u8(v[k + 3][row])) << 24;
      };
#pragma unroll
      for (i32 j = 0; j < HEIGHT; ++j) {
        unsigned char* const at = tile + Tile::offset(r + j, c);
        if constexpr (DEPTH == 4)
          *(u32*)at = word(j, 0);
        else if constexpr (DEPTH == 8)
          *(uint2*)at = make_uint2(word(j, 0), word(j, 4));
        else
          *(uint4*)at = make_uint4(word(j, 0), word(j, 4), word(j, 8), word(j, 12));
      }
    });
  }
};
#elif A_LOAD == 1 || B_LOAD == 1
// Stores computed elements, rounded to the operands' type, as words as wide as they come; chunks lie apart.
template <typename Tile, i32 VECTOR>
TCC_FN void put(unsigned char* slot, i32 row, i32 column, const f32 (&v)[VECTOR]) {
#pragma unroll
  for (i32 i = 0; i < VECTOR; i += CHUNK) {
    unsigned char* const at = slot + Tile::offset(row, column + i);
#if OPERANDS == 2
    if constexpr (VECTOR >= 4) {
      *(float4*)at = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
    } else {
#pragma unroll
      for (i32 j = 0; j < VECTOR; ++j) ((f32*)at)[j] = v[j];
    }
#else
    if constexpr (VECTOR >= 8) {
      *(uint4*)at = make_uint4(PACK(v[i], v[i + 1]), PACK(v[i + 2], v[i + 3]), PACK(v[i + 4], v[i + 5]),
                               PACK(v[i + 6], v[i + 7]));
    } else if constexpr (VECTOR == 4) {
      *(uint2*)at = make_uint2(PACK(v[0], v[1]), PACK(v[2], v[3]));
    } else if constexpr (VECTOR == 2) {
      *(u32*)at = PACK(v[0], v[1]);
    } else {
      *(u16*)at = u16(PACK(v[0], 0.0f));
    }
#endif
  }
}
#endif

TCC_ENTRY {
  TCC_BEGIN
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const u32 shared = u32(__cvta_generic_to_shared(shared_bytes));
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32;
  const INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  const i32 in_batch = i32(block % (TILES_M * TILES_N));
  const i32 batch = i32(block / (TILES_M * TILES_N));
  const i32 band_start = in_batch / (BAND * TILES_N) * BAND;
  const i32 band_rows = TILES_M - band_start < BAND ? TILES_M - band_start : BAND;
  const i32 in_band = in_batch % (BAND * TILES_N);
  const i32 row0 = (band_start + in_band % band_rows) * BLOCK_M;
  const i32 col0 = in_band / band_rows * BLOCK_N;
  const i32 warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;

  // A piece that comes through registers is fetched at the start of a k step and stored at its end.
#if A_LOAD == 1 && OPERANDS == 3
  Bytes<TileA, A_VECTOR, A_VECTOR_ALONG_K> next_a;
#elif A_LOAD == 1
  f32 next_a[VECTORS<TileA, A_VECTOR>][A_VECTOR];
#elif A_LOAD == 2
  Unaligned next_a[VECTORS<TileA, CHUNK>];
#endif
#if B_LOAD == 1 && OPERANDS == 3
  Bytes<TileB, B_VECTOR, B_VECTOR_ALONG_K> next_b;
#elif B_LOAD == 1
  f32 next_b[VECTORS<TileB, B_VECTOR>][B_VECTOR];
#elif B_LOAD == 2
  Unaligned next_b[VECTORS<TileB, CHUNK>];
#endif

#if A_LOAD != 1
  const Element* const A = (const Element*)(A_BUFFER);
#endif
#if B_LOAD != 1
  const Element* const B = (const Element*)(B_BUFFER);
#endif
#define FREE_A(row, column) (row0 + (A_MAJOR_K ? (row) : (column)))
#define FREE_B(row, column) (col0 + (B_MAJOR_K ? (row) : (column)))
#define K_A(row, column) (tile * BLOCK_K + (A_MAJOR_K ? (column) : (row)))
#define K_B(row, column) (tile * BLOCK_K + (B_MAJOR_K ? (column) : (row)))
// The hooks' coordinates: vectors are counted along the contiguous axis.
#define VECTOR_A(r, c) FREE_A(r, c) / (A_MAJOR_K ? 1u : u32(A_VECTOR)), K_A(r, c) / (A_MAJOR_K ? u32(A_VECTOR) : 1u)
#define VECTOR_B(r, c) FREE_B(r, c) / (B_MAJOR_K ? 1u : u32(B_VECTOR)), K_B(r, c) / (B_MAJOR_K ? u32(B_VECTOR) : 1u)

  auto fetch = [&](i32 tile, u32 slot, i32 piece) {
    const u32 slot_a = shared + slot, slot_b = slot_a + TileA::BYTES;
#if A_LOAD == 0
    each_vector<TileA, A_VECTOR>(thread, piece, [&](i32, i32 r, i32 c) {
      const i32 inside = elements_inside<A_MAJOR_K, SIZE_M, BLOCK_M, A_VECTOR>(FREE_A(r, c), K_A(r, c));
      const Element* const from = A + vector_a(TCC_BUFFERS batch, VECTOR_A(r, c));
      copy_async<A_VECTOR * sizeof(Element)>(slot_a + TileA::offset(r, c), from, inside * i32(sizeof(Element)));
    });
#elif A_LOAD == 1 && OPERANDS == 3
    next_a.fetch(thread, piece, row0, tile * BLOCK_K,
                 [&](i32 at, i32 k, ACC (&v)[A_VECTOR]) { load_a(TCC_BUFFERS batch, at, k, v); });
#elif A_LOAD == 1
    each_vector<TileA, A_VECTOR>(
        thread, piece, [&](i32 s, i32 r, i32 c) { load_a(TCC_BUFFERS batch, VECTOR_A(r, c), next_a[s]); });
#else
    each_vector<TileA, CHUNK>(thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 line = A_MAJOR_K ? FREE_A(r, c) : K_A(r, c), column = A_MAJOR_K ? K_A(r, c) : FREE_A(r, c);
      const i32 lines = A_MAJOR_K ? SIZE_M : SIZE_K, columns = A_MAJOR_K ? SIZE_K : SIZE_M;
      next_a[s] = fetch_unaligned(A + row_a(TCC_BUFFERS batch, line), column, columns, line < lines);
    });
#endif
#if B_LOAD == 0
    each_vector<TileB, B_VECTOR>(thread, piece, [&](i32, i32 r, i32 c) {
      const i32 inside = elements_inside<B_MAJOR_K, SIZE_N, BLOCK_N, B_VECTOR>(FREE_B(r, c), K_B(r, c));
      const Element* const from = B + vector_b(TCC_BUFFERS batch, VECTOR_B(r, c));
      copy_async<B_VECTOR * sizeof(Element)>(slot_b + TileB::offset(r, c), from, inside * i32(sizeof(Element)));
    });
#elif B_LOAD == 1 && OPERANDS == 3
    next_b.fetch(thread, piece, col0, tile * BLOCK_K,
                 [&](i32 at, i32 k, ACC (&v)[B_VECTOR]) { load_b(TCC_BUFFERS batch, at, k, v); });
#elif B_LOAD == 1
    each_vector<TileB, B_VECTOR>(
        thread, piece, [&](i32 s, i32 r, i32 c) { load_b(TCC_BUFFERS batch, VECTOR_B(r, c), next_b[s]); });
#else
    each_vector<TileB, CHUNK>(thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 line = B_MAJOR_K ? FREE_B(r, c) : K_B(r, c), column = B_MAJOR_K ? K_B(r, c) : FREE_B(r, c);
      const i32 lines = B_MAJOR_K ? SIZE_N : SIZE_K, columns = B_MAJOR_K ? SIZE_K : SIZE_N;
      next_b[s] = fetch_unaligned(B + row_b(TCC_BUFFERS batch, line), column, columns, line < lines);
    });
#endif
  };

  auto store = [&](i32 tile, u32 slot, i32 piece) {
    unsigned char* const slot_a = shared_bytes + slot;
    unsigned char* const slot_b = slot_a + TileA::BYTES;
#if A_LOAD == 1 && OPERANDS == 3
    next_a.store(thread, piece, slot_a);
#elif A_LOAD == 1
    each_vector<TileA, A_VECTOR>(
        thread, piece, [&](i32 s, i32 r, i32 c) { put<TileA>(slot_a, r, c, next_a[s]); });
#elif A_LOAD == 2
    each_vector<TileA, CHUNK>(thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 left = A_MAJOR_K ? SIZE_K - K_A(r, c) : SIZE_M - FREE_A(r, c);
      u32 w[4];
      shift_unaligned<Element>(next_a[s], left, w);
      *(uint4*)(slot_a + TileA::offset(r, c)) = make_uint4(w[0], w[1], w[2], w[3]);
    });
#endif
#if B_LOAD == 1 && OPERANDS == 3
    next_b.store(thread, piece, slot_b);
#elif B_LOAD == 1
    each_vector<TileB, B_VECTOR>(
        thread, piece, [&](i32 s, i32 r, i32 c) { put<TileB>(slot_b, r, c, next_b[s]); });
#elif B_LOAD == 2
    each_vector<TileB, CHUNK>(thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 left = B_MAJOR_K ? SIZE_K - K_B(r, c) : SIZE_N - FREE_B(r, c);
      u32 w[4];
      shift_unaligned<Element>(next_b[s], left, w);
      *(uint4*)(slot_b + TileB::offset(r, c)) = make_uint4(w[0], w[1], w[2], w[3]);
    });
#endif
  };

  // Offsets of this lane's part of a fragment: the row, and the chunk within it before and after swizzling. Fragments
  // start at even chunks and multiples of 8 rows, so that the lane's part of the swizzle is the same in all of them.
  const i32 high = lane >> 3 & 1, upper = lane >> 4, group = lane / 4, in_group = lane % 4;
  const i32 lane_row_a = TileA::WORDS ? in_group : A_MAJOR_K ? warp_m + (lane & 15) : (lane & 7) + upper * 8;
  const i32 chunk_a = TileA::WORDS ? group / 4 : A_MAJOR_K ? upper : high;
  const i32 lane_row_b = TileB::WORDS ? in_group : B_MAJOR_K ? warp_n + (lane & 7) + upper * 8 : lane & 15;
  const i32 chunk_b = TileB::WORDS ? group / 4 : B_MAJOR_K ? high : upper;
  const u32 lane_a = lane_row_a * TileA::ROW_BYTES + (TileA::WORDS ? group % 4 * 4 : 0);
  const u32 lane_b = lane_row_b * TileB::ROW_BYTES + (TileB::WORDS ? group % 4 * 4 : 0);
  const u32 swizzled_a = (chunk_a ^ TileA::swizzle(lane_row_a)) * 16;
  const u32 swizzled_b = (chunk_b ^ TileB::swizzle(lane_row_b)) * 16;

  auto read_a = [&](u32 slot, i32 step, u32 (&a)[FRAGMENTS_M][4]) {
    const u32 at_a = shared + slot + lane_a;
#pragma unroll
    for (i32 i = 0; i < FRAGMENTS_M; ++i) {
      if (TileA::WORDS) {
#pragma unroll
        for (i32 w = 0; w < 4; ++w)
          a[i][w] = load_word(at_a + (step * 8 + w / 2 * 4) * TileA::ROW_BYTES +
                              (u32((warp_m + i * 16 + w % 2 * 8) / CHUNK * 16) ^ swizzled_a));
      } else if (A_MAJOR_K) {
        load_matrices<false>(at_a + i * 16 * TileA::ROW_BYTES + (u32(step * 32) ^ swizzled_a), a[i][0], a[i][1],
                             a[i][2], a[i][3]);
      } else {
        load_matrices<true>(
            at_a + step * 16 * TileA::ROW_BYTES + (u32((warp_m + i * 16) / CHUNK * 16) ^ swizzled_a), a[i][0],
            a[i][1], a[i][2], a[i][3]);
      }
    }
  };
  auto read_b = [&](u32 slot, i32 step, i32 j, u32 (&b0)[2], u32 (&b1)[2]) {  // columns j * 8 to j * 8 + 15
    const u32 at_b = shared + slot + TileA::BYTES + lane_b;
    if (TileB::WORDS) {
#pragma unroll
      for (i32 w = 0; w < 4; ++w)
        (w < 2 ? b0 : b1)[w % 2] = load_word(at_b + (step * 8 + w % 2 * 4) * TileB::ROW_BYTES +
                                             (u32((warp_n + j * 8 + w / 2 * 8) / CHUNK * 16) ^ swizzled_b));
    } else if (B_MAJOR_K) {
      load_matrices<false>(at_b + j * 8 * TileB::ROW_BYTES + (u32(step * 32) ^ swizzled_b), b0[0], b0[1], b1[0], b1[1]);
    } else {
      load_matrices<true>(at_b + step * 16 * TileB::ROW_BYTES + (u32((warp_n + j * 8) / CHUNK * 16) ^ swizzled_b),
                          b0[0], b0[1], b1[0], b1[1]);
    }
  };

  ACC acc[FRAGMENTS_M][FRAGMENTS_N][4];
#pragma unroll
  for (i32 i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
    for (i32 j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
      for (i32 v = 0; v < 4; ++v) acc[i][j][v] = ACC(0);

#pragma unroll 1
  for (i32 tile = 0; tile < STAGES - 1; ++tile) {
#pragma unroll 1
    for (i32 piece = 0; piece < K_STEPS && tile < K_TILES; ++piece) {
      fetch(tile, tile * STAGE_BYTES, piece);
      store(tile, tile * STAGE_BYTES, piece);
    }
    commit_copies();
  }
  wait_for_copies<STAGES - 2>();
  constexpr u32 LAST_SLOT = (STAGES - 1) * STAGE_BYTES;
  u32 slot = 0;
  u32 a[2][FRAGMENTS_M][4];
  u32 b[FRAGMENTS_N][2];
  read_a(slot, 0, a[0]);
#pragma unroll
  for (i32 j = 0; j < FRAGMENTS_N; j += 2) read_b(slot, 0, j, b[j], b[j + 1]);

#pragma unroll 1
  for (i32 tile = 0; tile < K_TILES; ++tile) {
    const bool more = tile + STAGES - 1 < K_TILES;
    const u32 next_slot = slot == LAST_SLOT ? 0 : slot + STAGE_BYTES;
    const u32 free_slot = slot == 0 ? LAST_SLOT : slot - STAGE_BYTES;
#pragma unroll
    for (i32 step = 0; step < K_STEPS; ++step) {
      // The free slot held the tile before this one; its last fragments were read before the latest barrier.
      if (more) fetch(tile + STAGES - 1, free_slot, step);
      if (step == K_STEPS - 1) {
        commit_copies();
        wait_for_copies<STAGES - 2>();
      }
      // The next step's fragments: A's go to other registers, B's take the place of those that are done with. After the
      // last tile this reads a slot of no meaning, and nobody uses it.
      const u32 from = step == K_STEPS - 1 ? next_slot : slot;
      const i32 next_step = (step + 1) % K_STEPS;
      read_a(from, next_step, a[(step + 1) % 2]);
#pragma unroll
      for (i32 j = 0; j < FRAGMENTS_N; j += 2) {
#pragma unroll
        for (i32 i = 0; i < FRAGMENTS_M; ++i) {
          mma(acc[i][j], a[step % 2][i], b[j]);
          mma(acc[i][j + 1], a[step % 2][i], b[j + 1]);
        }
        read_b(from, next_step, j, b[j], b[j + 1]);
      }
      if (more) store(tile + STAGES - 1, free_slot, step);
    }
    slot = next_slot;
  }
  __syncthreads();  // other warps may still read the last tile, whose place the results take

  // Sixteen lines of results at a time pass through the warp's own shared memory, so that lanes hold neighbouring
  // segments. Lines are padded, and the halves of every second four segments exchanged, against bank conflicts.
  constexpr i32 SLABS = (SWAPPED ? WARP_N : WARP_M) / 16, LINE = SWAPPED ? WARP_M : WARP_N;
  constexpr i32 PARTS = LINE / 8, STRIDE = LINE + (SWAPPED ? 4 : 8);
  constexpr i32 WIDTH = SEGMENT < 4 ? SEGMENT : 4, AT_ONCE = 8 / SEGMENT;
  struct alignas(WIDTH * 4) Few {
    ACC v[WIDTH];
  };
  static_assert(16 * LINE % (32 * 8) == 0, "lanes have equal shares");
  ACC* const staged = (ACC*)shared_bytes + warp * 16 * STRIDE;
  const i32 first_line = SWAPPED ? col0 + warp_n : row0 + warp_m;
  const i32 first_column = SWAPPED ? row0 + warp_m : col0 + warp_n;
  auto place = [](i32 line, i32 column) {
    const i32 exchanged = (line * PARTS + column / 8) / 4 % 2;
    return line * STRIDE + (column ^ exchanged * 4);
  };
#pragma unroll 1
  for (i32 slab = 0; slab < SLABS; ++slab) {
    __syncwarp();
    // Accumulators are registers: their indices must be constants.
#pragma unroll
    for (i32 i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
      for (i32 j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
        for (i32 half = 0; half < 2; ++half) {
          if ((SWAPPED ? j / 2 : i) != slab) continue;
          const ACC v0 = acc[i][j][half * 2], v1 = acc[i][j][half * 2 + 1];
          if (SWAPPED) {
            const i32 line = j % 2 * 8 + in_group * 2, column = i * 16 + half * 8 + group;
            staged[place(line, column)] = v0;
            staged[place(line + 1, column)] = v1;
          } else {
            *(Pair*)(staged + place(half * 8 + group, j * 8 + in_group * 2)) = {v0, v1};
          }
        }
    __syncwarp();
#pragma unroll 1
    for (i32 n = lane; n < 16 * LINE / SEGMENT; n += 32 * AT_ONCE) {
      ACC segments[AT_ONCE][SEGMENT];
#pragma unroll
      for (i32 s = 0; s < AT_ONCE; ++s) {
        const i32 line = (n + s * 32) / (LINE / SEGMENT), column = (n + s * 32) % (LINE / SEGMENT) * SEGMENT;
#pragma unroll
        for (i32 i = 0; i < SEGMENT; i += WIDTH) {
          const Few few = *(const Few*)(staged + place(line, column + i));
#pragma unroll
          for (i32 w = 0; w < WIDTH; ++w) segments[s][i + w] = few.v[w];
        }
      }
#pragma unroll
      for (i32 s = 0; s < AT_ONCE; ++s) {
        const i32 line = (n + s * 32) / (LINE / SEGMENT), column = (n + s * 32) % (LINE / SEGMENT) * SEGMENT;
        epilogue(TCC_BUFFERS batch, first_line + slab * 16 + line, (first_column + column) / SEGMENT, segments[s]);
      }
    }
  }
}
