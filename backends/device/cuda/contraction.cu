// Matrix products on FMA units: out[row, col] = sum over k of A[row, k] * B[k, col], per batch.
//
// A workgroup computes a BLOCK_M x BLOCK_N tile, a thread THREAD_M x THREAD_N of it in registers. Tiles of A and B go
// through shared memory, k-major, two of each: the next is loaded into registers while this one is multiplied.
// SLICES groups of threads share the products of each tile, and PEERS workgroups of a cluster share the tiles of k; sums
// meet at the end, and each thread finishes its share of the segments.
// Hooks: load_a, load_b (index maps, prologues, bounds), epilogue (a row segment of SEGMENT results).
// Long sums are folded every FOLD_TILES tiles into a second set of accumulators, which keeps f32 results within a few
// ulp of exact; it is in shared memory where registers hold the first alone (TOTALS_SHARED). Where both operands are 8-bit integers, PACK = 4 neighbours along k are one word of the tiles, and dp4a
// multiplies and sums four of them; k then counts words.
#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define ACC f32
#define INDEX i32
#define BLOCK_M 64
#define BLOCK_N 64
#define BLOCK_K 16
#define THREAD_M 8
#define THREAD_N 4
#define SLICES 1
#define PEERS 1
#define SIZE_K 1024
#define TILES_M 16
#define TILES_N 16
#define A_VECTOR 4
#define A_ALONG_K 1
#define B_VECTOR 4
#define B_ALONG_K 0
#define SEGMENT 4
#define FOLD_TILES 8
#define TOTALS_SHARED 0
#define SHARED_BYTES 17408
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 256
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) contraction(const f32* __restrict__ b0, const f32* __restrict__ b1, f32* __restrict__ b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ void load_a(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 at, i32 k, f32 (&v)[4]) {
  const float4 x = ((const float4*)b0)[at * (SIZE_K / 4) + k];
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
static __device__ __forceinline__ void load_b(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 at, i32 k, f32 (&v)[4]) {
  const float4 x = ((const float4*)b1)[k * (BLOCK_N * TILES_N / 4) + at];
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
static __device__ __forceinline__ void epilogue(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 row, i32 part, const f32 (&acc)[4]) {
  ((float4*)b2)[row * (BLOCK_N * TILES_N / 4) + part] = float4{acc[0], acc[1], acc[2], acc[3]};
}
#endif

#ifndef PACK
#define PACK 1
#endif
#ifndef PEERS
#define PEERS 1
#endif
#define K_TILES ((SIZE_K + BLOCK_K - 1) / BLOCK_K)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
// Threads of a slice. Those of a warp cover a tile that is about square, so that many of them read the same words: the
// pipe of shared memory brings vectors that pairs of neighbours along either side share in half the time.
#define THREADS_M (BLOCK_M / THREAD_M)
#define THREADS_N (BLOCK_N / THREAD_N)
#define SLICE_THREADS (THREADS_M * THREADS_N)
#define LANES_M LEAST(THREADS_M, 32 / LEAST(THREADS_N, 8))
#define LANES_N LEAST(THREADS_N, 32 / LANES_M)
#define PAIRED (LANES_M > 1 ? 2 : 1)
#define WARPS_N (THREADS_N / LANES_N)
// A thread's rows and columns are groups of neighbours; those of its neighbours in the warp lie in between.
#define ROWS LEAST(THREAD_M, 4)
#define SEGMENTS (THREAD_N / SEGMENT)
#define ROW_OF(i) ((i) / ROWS * LANES_M * ROWS + (i) % ROWS)
#define SLICE_K (BLOCK_K / SLICES)
// Segments that a thread has once slices are summed, and those that it finishes.
#define STEPS (THREAD_M * SEGMENTS / SLICES)
#define OWNED (STEPS / PEERS)
// Rows of the shared tiles are padded so that the transposing stores of along-k vectors hit different banks.
#define STRIDE_A (BLOCK_M + 4)
#define STRIDE_B (BLOCK_N + 4)
// Words that a thread moves at once, how many of those a tile has, and how many each thread moves.
#if PACK == 1
#define WORD ACC
#define A_WORDS A_VECTOR
#define B_WORDS B_VECTOR
#if FLOAT_ACC
#define MULTIPLY_ADD(a, b, c) fused_multiply_add(a, b, c)
static __device__ __forceinline__ f32 fused_multiply_add(f32 a, f32 b, f32 c) { return tcc_fma_f32(a, b, c); }
static __device__ __forceinline__ f64 fused_multiply_add(f64 a, f64 b, f64 c) { return tcc_fma_f64(a, b, c); }
#else
#define MULTIPLY_ADD(a, b, c) ((c) + (a) * (b))
#endif
#else
#define WORD u32
#define A_WORDS (A_ALONG_K == 0 ? A_VECTOR : A_VECTOR < PACK ? 1 : A_VECTOR / PACK)
#define B_WORDS (B_ALONG_K == 0 ? B_VECTOR : B_VECTOR < PACK ? 1 : B_VECTOR / PACK)
#define MULTIPLY_ADD(a, b, c) dot4(a, b, c)
// A_SIGNED and B_SIGNED: whether the bytes are signed.
static __device__ __forceinline__ ACC dot4(u32 a, u32 b, ACC c) {
  ACC sum;
#define DP4A(types) asm("dp4a." types " %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c))
  if (A_SIGNED && B_SIGNED)
    DP4A("s32.s32");
  else if (A_SIGNED)
    DP4A("s32.u32");
  else if (B_SIGNED)
    DP4A("u32.s32");
  else
    DP4A("u32.u32");
  return sum;
}
#endif
#if PEERS > 1
// A segment to a peer's shared memory.
template <typename T>
static __device__ __forceinline__ void send_segment(u32 to, const T (&v)[SEGMENT], u32 barrier) {
  if constexpr (SEGMENT == 4 && sizeof(T) == 4) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(to), "r"(tcc_cuda_bits(v[0])), "r"(tcc_cuda_bits(v[1])), "r"(tcc_cuda_bits(v[2])), "r"(tcc_cuda_bits(v[3])), "r"(barrier)
                 : "memory");
  } else {
#pragma unroll
    for (i32 j = 0; j < SEGMENT; ++j) tcc_cuda_store_async(to + j * i32(sizeof(T)), tcc_cuda_bits(v[j]), barrier);
  }
}
#endif
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
#define TILE_BYTES (2 * (TILE_A + TILE_B) * i32(sizeof(ACC)))
// Sums of slices meet in the tiles' memory, as many segments at once as it holds; those of peers all at once.
#define SLICES_AT_ONCE LEAST(STEPS, TILE_BYTES / (WORKGROUP * SLICES * SEGMENT * i32(sizeof(ACC))))
#define PEER_BYTES ((PEERS - 1) * OWNED * SEGMENT * WORKGROUP * i32(sizeof(ACC)))
#define TOTALS_AT (TILE_BYTES > PEER_BYTES ? TILE_BYTES : PEER_BYTES)
#define BARRIER_AT (TOTALS_AT + (TOTALS_SHARED ? WORKGROUP * THREAD_M * THREAD_N * i32(sizeof(ACC)) : 0))
static_assert(SHARED_BYTES == BARRIER_AT + (PEERS > 1 ? 16 : 0), "the template counts the bytes as they are");
static_assert(STEPS > 0 && STEPS * SLICES == THREAD_M * SEGMENTS, "slices share whole segments");
static_assert(OWNED > 0 && OWNED * PEERS == STEPS, "peers share whole segments");
static_assert(SLICES == 1 || SLICES_AT_ONCE > 0, "a segment of each slice fits into the tiles' memory");

extern __shared__ __align__(16) unsigned char shared_bytes[];

TCC_ENTRY {
  TCC_BEGIN
  const i32 thread = i32(TCC_THREAD);
  const INDEX in_grid = INDEX(TCC_BLOCK);
  if (in_grid >= GRID) return;
  const i32 rank = i32(in_grid % PEERS);
  const INDEX block = in_grid / PEERS;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  const i32 band = 8;
  const i32 in_batch = i32(block % (TILES_M * TILES_N));
  const i32 batch = i32(block / (TILES_M * TILES_N));
  const i32 band_start = in_batch / (band * TILES_N) * band;
  const i32 band_rows = TILES_M - band_start < band ? TILES_M - band_start : band;
  const i32 in_band = in_batch % (band * TILES_N);
  const i32 row0 = (band_start + in_band % band_rows) * BLOCK_M;
  const i32 col0 = in_band / band_rows * BLOCK_N;
  const i32 slice = thread / SLICE_THREADS;
  const i32 warp = thread % SLICE_THREADS / (LANES_M * LANES_N), lane = thread % (LANES_M * LANES_N);
  const i32 lane_m = lane / (PAIRED * LANES_N) * PAIRED + lane % PAIRED, lane_n = lane / PAIRED % LANES_N;
  const i32 thread_row = warp / WARPS_N * LANES_M * THREAD_M + lane_m * ROWS;
  const i32 thread_part = warp % WARPS_N * LANES_N * SEGMENTS + lane_n;
  WORD* const tile_a = (WORD*)shared_bytes;
  WORD* const tile_b = tile_a + 2 * TILE_A;

  ACC acc[THREAD_M][THREAD_N];
#if FOLD_TILES
  // The thread's sum in segment q of its rows.
#if TOTALS_SHARED
  ACC* const totals = (ACC*)(shared_bytes + TOTALS_AT) + thread * SEGMENT;
#define TOTAL(i, s, j) totals[((i) * SEGMENTS + (s)) * WORKGROUP * SEGMENT + (j)]
#else
  ACC totals[THREAD_M][SEGMENTS][SEGMENT];
#define TOTAL(i, s, j) totals[i][s][j]
#endif
#define EACH_SUM                                                \
  _Pragma("unroll") for (i32 i = 0; i < THREAD_M; ++i)          \
    _Pragma("unroll") for (i32 s = 0; s < SEGMENTS; ++s)        \
      _Pragma("unroll") for (i32 j = 0; j < SEGMENT; ++j)
  EACH_SUM TOTAL(i, s, j) = ACC(0);
#endif
#pragma unroll
  for (i32 i = 0; i < THREAD_M; ++i) {
#pragma unroll
    for (i32 j = 0; j < THREAD_N; ++j) acc[i][j] = ACC(0);
  }

  WORD next_a[A_STEPS][A_WORDS];
  WORD next_b[B_STEPS][B_WORDS];

// One operand's words at (at, k), both counted in moves, through its hook.
#if PACK == 1
#define LOAD(load, WORDS, VECTOR, ALONG_K, at, k, to) load(TCC_BUFFERS batch, at, k, to)
#else
#define LOAD(load, WORDS, VECTOR, ALONG_K, at, k, to)                                          \
  _Pragma("unroll") for (i32 w = 0; w < WORDS; ++w) to[w] = 0;                                 \
  _Pragma("unroll") for (i32 part = 0; part < WORDS * PACK / VECTOR; ++part) {                 \
    ACC bytes[VECTOR];                                                                         \
    if (ALONG_K != 0)                                                                          \
      load(TCC_BUFFERS batch, at, (k) * (WORDS * PACK / VECTOR) + part, bytes);                \
    else                                                                                       \
      load(TCC_BUFFERS batch, at, (k) * PACK + part, bytes);                                   \
    _Pragma("unroll") for (i32 v = 0; v < VECTOR; ++v) {                                       \
      const i32 byte = ALONG_K != 0 ? part * VECTOR + v : part;                                \
      to[ALONG_K != 0 ? byte / PACK : v] |= (u32(bytes[v]) & 0xffu) << byte % PACK * 8;        \
    }                                                                                          \
  }
#endif

#define FETCH(k0)                                                                              \
  _Pragma("unroll") for (i32 s = 0; s < A_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                             \
      const i32 at = A_ALONG_K != 0 ? row0 + AT_OF(n, A_NEAR, BLOCK_M) : row0 / A_WORDS + n % A_PER_M;       \
      const i32 k = A_ALONG_K != 0 ? (k0) / A_WORDS + K_OF(n, A_NEAR, BLOCK_M) : (k0) + n / A_PER_M;        \
      LOAD(load_a, A_WORDS, A_VECTOR, A_ALONG_K, at, k, next_a[s]);                            \
    }                                                                                          \
  }                                                                                            \
  _Pragma("unroll") for (i32 s = 0; s < B_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                             \
      const i32 at = B_ALONG_K != 0 ? col0 + AT_OF(n, B_NEAR, BLOCK_N) : col0 / B_WORDS + n % B_PER_N;       \
      const i32 k = B_ALONG_K != 0 ? (k0) / B_WORDS + K_OF(n, B_NEAR, BLOCK_N) : (k0) + n / B_PER_N;        \
      LOAD(load_b, B_WORDS, B_VECTOR, B_ALONG_K, at, k, next_b[s]);                            \
    }                                                                                          \
  }

#define PUT(slot)                                                                              \
  _Pragma("unroll") for (i32 s = 0; s < A_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                             \
      _Pragma("unroll") for (i32 v = 0; v < A_WORDS; ++v) {                                    \
        if (A_ALONG_K != 0)                                                                    \
          tile_a[(slot) * TILE_A + (K_OF(n, A_NEAR, BLOCK_M) * A_WORDS + v) * STRIDE_A + AT_OF(n, A_NEAR, BLOCK_M)] = next_a[s][v]; \
        else                                                                                   \
          tile_a[(slot) * TILE_A + n / A_PER_M * STRIDE_A + n % A_PER_M * A_WORDS + v] = next_a[s][v]; \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  _Pragma("unroll") for (i32 s = 0; s < B_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                             \
      _Pragma("unroll") for (i32 v = 0; v < B_WORDS; ++v) {                                    \
        if (B_ALONG_K != 0)                                                                    \
          tile_b[(slot) * TILE_B + (K_OF(n, B_NEAR, BLOCK_N) * B_WORDS + v) * STRIDE_B + AT_OF(n, B_NEAR, BLOCK_N)] = next_b[s][v]; \
        else                                                                                   \
          tile_b[(slot) * TILE_B + n / B_PER_N * STRIDE_B + n % B_PER_N * B_WORDS + v] = next_b[s][v]; \
      }                                                                                        \
    }                                                                                          \
  }

  const i32 first_tile = rank * ((K_TILES + PEERS - 1) / PEERS);
  const i32 end_tile = LEAST(first_tile + (K_TILES + PEERS - 1) / PEERS, K_TILES);
  FETCH(first_tile * BLOCK_K)
  PUT(0)
  __syncthreads();
  for (i32 tile = first_tile; tile < end_tile; ++tile) {
    const i32 slot = (tile - first_tile) & 1;
    // Loads in a branch would sink to the stores behind the products. The last tile is fetched again.
    FETCH(LEAST(tile + 1, end_tile - 1) * BLOCK_K)
    // A loop of two: loads would sink into one block of products, and be waited for behind it.
    constexpr i32 half = SLICE_K / 2;
#pragma unroll half
    for (i32 step = 0; step < SLICE_K; ++step) {
      const i32 k = slice * SLICE_K + step;
      WORD a[THREAD_M];
      WORD b[THREAD_N];
#pragma unroll
      for (i32 i = 0; i < THREAD_M; ++i) a[i] = tile_a[slot * TILE_A + k * STRIDE_A + thread_row + ROW_OF(i)];
#pragma unroll
      for (i32 j = 0; j < THREAD_N; ++j)
        b[j] = tile_b[slot * TILE_B + k * STRIDE_B + (j / SEGMENT * LANES_N + thread_part) * SEGMENT + j % SEGMENT];
      // To and fro: one register is that of the product before, which spares conflicts of registers' banks.
#pragma unroll
      for (i32 i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (i32 n = 0; n < THREAD_N; ++n) {
          const i32 j = i % 2 == 0 ? n : THREAD_N - 1 - n;
          acc[i][j] = MULTIPLY_ADD(a[i], b[j], acc[i][j]);
        }
    }
#if FOLD_TILES
    if ((tile - first_tile) % FOLD_TILES == FOLD_TILES - 1) {
      EACH_SUM {
        TOTAL(i, s, j) += acc[i][s * SEGMENT + j];
        acc[i][s * SEGMENT + j] = ACC(0);
      }
    }
#endif
    PUT(1 - slot)
    __syncthreads();
  }

  // Sums by segments: those that this thread has of its rows, row after row.
  ACC sums[STEPS][SEGMENT];
#define SUM(q, j) acc[(q) / SEGMENTS][(q) % SEGMENTS * SEGMENT + (j)]
#if FOLD_TILES
  EACH_SUM acc[i][s * SEGMENT + j] += TOTAL(i, s, j);
#endif
#if SLICES == 1
#pragma unroll
  for (i32 q = 0; q < STEPS; ++q)
#pragma unroll
    for (i32 j = 0; j < SEGMENT; ++j) sums[q][j] = SUM(q, j);
#else
  // Threads of the same place in each slice share its segments.
  ACC* const met = (ACC*)shared_bytes;
  const i32 place = thread % SLICE_THREADS;
#pragma unroll
  for (i32 step = 0; step < STEPS; step += SLICES_AT_ONCE) {
    if (step > 0) __syncthreads();
#pragma unroll
    for (i32 q = 0; q < SLICES_AT_ONCE * SLICES; ++q)
#pragma unroll
      for (i32 j = 0; j < SEGMENT; ++j)
        if (step * SLICES + q < THREAD_M * SEGMENTS)
          met[((q * SLICES + slice) * SLICE_THREADS + place) * SEGMENT + j] = SUM(step * SLICES + q, j);
    __syncthreads();
#pragma unroll
    for (i32 own = 0; own < SLICES_AT_ONCE; ++own) {
      if (step + own >= STEPS) continue;
#pragma unroll
      for (i32 j = 0; j < SEGMENT; ++j) sums[step + own][j] = ACC(0);
#pragma unroll
      for (i32 other = 0; other < SLICES; ++other)
#pragma unroll
        for (i32 j = 0; j < SEGMENT; ++j)
          sums[step + own][j] += met[(((own * SLICES + slice) * SLICES + other) * SLICE_THREADS + place) * SEGMENT + j];
    }
  }
#endif

#if PEERS > 1
  // Step number s is finished by the peer of rank s % PEERS: the others send it their sums, whose bytes its barrier
  // counts. Nobody reads tiles when all have arrived.
  u64* const sent = (u64*)(shared_bytes + BARRIER_AT);
  ACC* const inbox = (ACC*)shared_bytes;
  __syncthreads();
  tcc_cuda_expect(sent, PEER_BYTES);
  __syncthreads();
  tcc_cuda_cluster_arrive();
  tcc_cuda_cluster_wait();
#pragma unroll
  for (i32 step = 0; step < STEPS; ++step) {
    const i32 owner = step % PEERS;
    if (owner == rank) continue;
    const i32 from = rank - (rank > owner ? 1 : 0);
    const u32 to = tcc_cuda_peer(tcc_cuda_shared(inbox + ((from * OWNED + step / PEERS) * WORKGROUP + thread) * SEGMENT), owner);
    send_segment(to, sums[step], tcc_cuda_peer(tcc_cuda_shared(sent), owner));
  }
  tcc_cuda_await(sent);
#endif

#pragma unroll
  for (i32 own = 0; own < OWNED; ++own) {
    ACC part[SEGMENT];
#pragma unroll
    for (i32 j = 0; j < SEGMENT; ++j) {
      part[j] = sums[own * PEERS][j];
#if PEERS > 1
#pragma unroll
      for (i32 peer = 1; peer < PEERS; ++peer)
        if (peer == rank) part[j] = sums[own * PEERS + peer][j];
#pragma unroll
      for (i32 peer = 0; peer < PEERS - 1; ++peer) part[j] += inbox[((peer * OWNED + own) * WORKGROUP + thread) * SEGMENT + j];
#endif
    }
    const i32 q = (own * PEERS + rank) * SLICES + slice;
    epilogue(TCC_BUFFERS batch, row0 + thread_row + ROW_OF(q / SEGMENTS), col0 / SEGMENT + thread_part + q % SEGMENTS * LANES_N, part);
  }
}
