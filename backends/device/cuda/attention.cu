// Attention on FMA units: out[row, e] = sum over keys of softmax(score(q[row] . k[key])) * v[key, e], per batch.
//
// A workgroup has BLOCK_Q queries and walks over tiles of BLOCK_K keys. A thread computes THREAD_Q x THREAD_K scores of a
// tile, and keeps the results of THREAD_Q queries, COLUMNS elements of each. The maximum and the sum of exponentials are
// those of the keys so far; results are scaled when the maximum grows, and normalised at the end.
// Hooks: load_q, load_k, load_v, score, score_inside (INSIDE), weight (WEIGHTS), key_range, epilogue, store_sum (STORE_SUM), tile_seen (LISTS):
// scheduler/templates/attention_hooks.h. Where workgroups share the keys of a query (PARTS), they
// store their parts by store_part and store_part_sums: scheduler/templates/attention_parts.h.
#ifndef BLOCK_Q  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define BLOCK_Q 32
#define BLOCK_K 32
#define BLOCK_D 16
#define THREAD_Q 4
#define THREAD_K 4
#define DEPTH 64
#define DEPTH_V 64
#define Q_VECTOR 4
#define K_VECTOR 4
#define V_VECTOR 4
#define VECTORS_AT_ONCE 4
#define SEGMENT 4
#define TILES_Q 4
#define PARTS 1
#define SCALE 0.125f
#define INSIDE 0
#define SAFE 0
#define WEIGHTS 0
#define STORE_SUM 1
#define LISTS 0
#define WORKGROUP 64
#define GRID 4
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) attention(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b3)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2, b3,
#define BUFFERS const f32* b0, const f32* b1, const f32* b2, f32* b3
#define HOOK static __device__ __forceinline__
HOOK f32 tcc_inf_f32() { return tcc_bits_f32(0x7f800000u); }
HOOK f32 tcc_nan_f32() { return tcc_bits_f32(0x7fc00000u); }
HOOK f32 tcc_exp_f32(f32 x) { return __expf(x); }
HOOK f32 tcc_log_f32(f32 x) { return __logf(x); }
HOOK void load_q(BUFFERS, i32 batch, i32 row, i32 d, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0[row * DEPTH + d * 4 + i];
}
HOOK void load_k(BUFFERS, i32 batch, i32 row, i32 d, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b1[row * DEPTH + d * 4 + i];
}
HOOK void load_v(BUFFERS, i32 batch, i32 row, i32 d, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b2[row * DEPTH_V + d * 4 + i];
}
HOOK void score(BUFFERS, i32 batch, i32 query, i32 key, f32 (&v)[4]) {}
HOOK void key_range(BUFFERS, i32, i32, i32 (&range)[4]) {
  range[0] = range[2] = 0;
  range[1] = range[3] = 128;
}
HOOK void epilogue(BUFFERS, i32 batch, i32 row, i32 part, const f32 (&acc)[4]) {
  for (i32 i = 0; i < 4; ++i) b3[row * DEPTH_V + part * 4 + i] = acc[i];
}
HOOK void store_sum(BUFFERS, i32 batch, i32 row, const f32 (&value)[1]) { b3[row] = value[0]; }
#endif

// Threads of a row, and the elements of results that each has: segments THREADS_K segments apart.
#define THREADS_K (BLOCK_K / THREAD_K)
#define SEGMENTS ((DEPTH_V + SEGMENT * THREADS_K - 1) / (SEGMENT * THREADS_K))
#define COLUMNS (SEGMENTS * SEGMENT)
// Scores of more products are sums of sums, each of BLOCK_D of them.
#define FOLDED 64
#define DEPTH_PAD ((DEPTH + BLOCK_D - 1) / BLOCK_D * BLOCK_D)
// Rows of shared tiles: queries or keys of one depth, padded against bank conflicts; results of one key.
#define STRIDE_Q (BLOCK_Q + 4)
#define STRIDE_K (BLOCK_K + 4)
#define STRIDE_V ((COLUMNS * THREADS_K + V_VECTOR - 1) / V_VECTOR * V_VECTOR)
#define STAGE_K (BLOCK_D * STRIDE_K)
#define STAGE_V (BLOCK_D * STRIDE_V)
// Vectors that the workgroup moves at once: all of q, BLOCK_D depths of k, BLOCK_D keys of v.
#define Q_PER_ROW (DEPTH_PAD / Q_VECTOR)
#define K_PER_ROW (BLOCK_D / K_VECTOR)
#define V_PER_ROW (STRIDE_V / V_VECTOR)

// Moves vectors 0 to `count` of a tile to shared memory: a thread has VECTORS_AT_ONCE of them on their way.
// `load` fills values[u] with vector n, `to` is the place of its element v.
#define STAGE(count, VECTOR, load, to)                                                                          \
  for (i32 n0 = thread; n0 < (count); n0 += VECTORS_AT_ONCE * WORKGROUP) {                                       \
    f32 values[VECTORS_AT_ONCE][VECTOR];                                                                        \
    _Pragma("unroll") for (i32 u = 0; u < VECTORS_AT_ONCE; ++u) {                                                   \
      const i32 n = n0 + u * WORKGROUP;                                                                         \
      if ((count) % (VECTORS_AT_ONCE * WORKGROUP) == 0 || n < (count)) { load; }                                \
    }                                                                                                           \
    _Pragma("unroll") for (i32 u = 0; u < VECTORS_AT_ONCE; ++u) {                                                   \
      const i32 n = n0 + u * WORKGROUP;                                                                         \
      if ((count) % (VECTORS_AT_ONCE * WORKGROUP) == 0 || n < (count)) {                                         \
        _Pragma("unroll") for (i32 v = 0; v < VECTOR; ++v) to = values[u][v];                                        \
      }                                                                                                         \
    }                                                                                                           \
  }

__shared__ __align__(16) f32 tile_q[DEPTH_PAD * STRIDE_Q];
__shared__ __align__(16) f32 stage[STAGE_K > STAGE_V ? STAGE_K : STAGE_V];  // k, then v
__shared__ __align__(16) f32 weights[BLOCK_K * STRIDE_Q];
__shared__ __align__(16) f32 maxima[BLOCK_Q * THREADS_K];

TCC_ENTRY {
  TCC_BEGIN
  const i32 thread = i32(TCC_THREAD);
  const INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  const i32 number = i32(block / TILES_Q);  // of the batch's part
  const i32 batch = number / PARTS;
  // The last queries often see the most keys: they begin first.
  const i32 tile = TILES_Q - 1 - i32(block % TILES_Q);
  const i32 row0 = tile * BLOCK_Q;
  const i32 thread_row = thread / THREADS_K * THREAD_Q;
  const i32 lane = thread % THREADS_K;

  STAGE(BLOCK_Q * Q_PER_ROW, Q_VECTOR,
        load_q(TCC_BUFFERS batch, row0 + n / Q_PER_ROW, n % Q_PER_ROW, values[u]),
        tile_q[(n % Q_PER_ROW * Q_VECTOR + v) * STRIDE_Q + n / Q_PER_ROW])

  f32 total[THREAD_Q][COLUMNS];
  f32 highest[THREAD_Q];
  f32 sum[THREAD_Q];  // of this thread's keys
  _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) {
    highest[i] = -tcc_inf_f32();
    sum[i] = 0.0f;
    _Pragma("unroll") for (i32 c = 0; c < COLUMNS; ++c) total[i][c] = 0.0f;
  }

  i32 bounds[4];
  key_range(TCC_BUFFERS batch, tile, bounds);
  i32 first = bounds[0] / BLOCK_K * BLOCK_K;
  i32 end = bounds[1];
#if PARTS > 1
  const i32 share = ((end - first + BLOCK_K - 1) / BLOCK_K + PARTS - 1) / PARTS * BLOCK_K;
  first += number % PARTS * share;
  end = end < first + share ? end : first + share;
#endif
  // Keys behind the last one that is seen are not read.
  for (i32 key0 = first; key0 < end; key0 += BLOCK_K) {
#if LISTS
    if (tile_seen(TCC_BUFFERS batch, tile, key0 / BLOCK_K) == 0) continue;
#endif
    f32 s[THREAD_Q][THREAD_K];
    _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i)
      _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) s[i][j] = 0.0f;
    for (i32 d0 = 0; d0 < DEPTH_PAD; d0 += BLOCK_D) {
      __syncthreads();
      STAGE(BLOCK_K * K_PER_ROW, K_VECTOR,
            load_k(TCC_BUFFERS batch, min(key0 + n / K_PER_ROW, end - 1), d0 / K_VECTOR + n % K_PER_ROW, values[u]),
            stage[(n % K_PER_ROW * K_VECTOR + v) * STRIDE_K + n / K_PER_ROW])
      __syncthreads();
#if DEPTH > FOLDED
      f32 sums[THREAD_Q][THREAD_K];
      _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i)
        _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) sums[i][j] = 0.0f;
#else
#define sums s
#endif
      _Pragma("unroll") for (i32 d = 0; d < BLOCK_D; ++d) {
        f32 q[THREAD_Q];
        f32 k[THREAD_K];
        _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) q[i] = tile_q[(d0 + d) * STRIDE_Q + thread_row + i];
        _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) k[j] = stage[d * STRIDE_K + lane * THREAD_K + j];
        _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i)
          _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) sums[i][j] = tcc_fma_f32(q[i], k[j], sums[i][j]);
      }
#if DEPTH > FOLDED
      _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i)
        _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) s[i][j] += sums[i][j];
#endif
    }

    _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) {
      const i32 row = row0 + thread_row + i;
#if INSIDE
      if (key0 >= bounds[2] && key0 + BLOCK_K <= bounds[3]) {
#if INSIDE == 2
        score_inside(TCC_BUFFERS batch, row, key0 + lane * THREAD_K, s[i]);
#endif
      } else
#endif
      {
        score(TCC_BUFFERS batch, row, key0 + lane * THREAD_K, s[i]);
      }
      f32 most = s[i][0];
      _Pragma("unroll") for (i32 j = 1; j < THREAD_K; ++j) most = fmaxf(most, s[i][j]);
      maxima[(thread_row + i) * THREADS_K + lane] = most;
    }
    __syncthreads();

    f32 part[THREAD_Q][COLUMNS];
    f32 shrunk[THREAD_Q];
    _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) {
      f32 most = highest[i];
      for (i32 t = 0; t < THREADS_K; ++t) most = fmaxf(most, maxima[(thread_row + i) * THREADS_K + t]);
      // A row that has seen no key yet has no maximum: its terms are 0.
      const f32 base = most == -tcc_inf_f32() ? 0.0f : most * SCALE;
      shrunk[i] = tcc_exp_f32(tcc_fma_f32(highest[i], SCALE, -base));
      highest[i] = most;
      f32 terms = 0.0f;
      _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) {
        s[i][j] = tcc_exp_f32(tcc_fma_f32(s[i][j], SCALE, -base));
        terms += s[i][j];
      }
#if WEIGHTS
      weight(TCC_BUFFERS batch, row0 + thread_row + i, key0 + lane * THREAD_K, s[i]);
#endif
      _Pragma("unroll") for (i32 j = 0; j < THREAD_K; ++j) weights[(lane * THREAD_K + j) * STRIDE_Q + thread_row + i] = s[i][j];
      sum[i] = tcc_fma_f32(sum[i], shrunk[i], terms);
      _Pragma("unroll") for (i32 c = 0; c < COLUMNS; ++c) part[i][c] = 0.0f;
    }

    for (i32 k0 = 0; k0 < BLOCK_K; k0 += BLOCK_D) {
      if (k0 > 0) __syncthreads();
      STAGE(BLOCK_D * V_PER_ROW, V_VECTOR,
            load_v(TCC_BUFFERS batch, min(key0 + k0 + n / V_PER_ROW, end - 1), n % V_PER_ROW, values[u]),
            stage[n / V_PER_ROW * STRIDE_V + n % V_PER_ROW * V_VECTOR + v])
      __syncthreads();
      _Pragma("unroll") for (i32 k = 0; k < BLOCK_D; ++k) {
        f32 w[THREAD_Q];
        _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) w[i] = weights[(k0 + k) * STRIDE_Q + thread_row + i];
        _Pragma("unroll") for (i32 c = 0; c < COLUMNS; ++c) {
          const f32 v = stage[k * STRIDE_V + (c / SEGMENT * THREADS_K + lane) * SEGMENT + c % SEGMENT];
          _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) part[i][c] = tcc_fma_f32(w[i], v, part[i][c]);
        }
      }
    }
    // Sums of one tile join those of the tiles before, so that long sums stay exact.
    _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i)
      _Pragma("unroll") for (i32 c = 0; c < COLUMNS; ++c) total[i][c] = tcc_fma_f32(total[i][c], shrunk[i], part[i][c]);
  }

  __syncthreads();
  _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) maxima[(thread_row + i) * THREADS_K + lane] = sum[i];
  __syncthreads();
  _Pragma("unroll") for (i32 i = 0; i < THREAD_Q; ++i) {
    const i32 row = row0 + thread_row + i;
    f32 whole = 0.0f;
    for (i32 t = 0; t < THREADS_K; ++t) whole += maxima[(thread_row + i) * THREADS_K + t];
#if PARTS > 1
    if (lane == 0) {
      f32 values[2];
      values[0] = highest[i] * SCALE;
      values[1] = whole;
      store_part_sums(TCC_BUFFERS number, row, values);
    }
    _Pragma("unroll") for (i32 g = 0; g < SEGMENTS; ++g) {
      f32 acc[SEGMENT];
      _Pragma("unroll") for (i32 c = 0; c < SEGMENT; ++c) acc[c] = total[i][g * SEGMENT + c];
      store_part(TCC_BUFFERS number, row, g * THREADS_K + lane, acc);
    }
#else
    // A row that sees no key has no weights. One with a NaN has a sum of NaN.
    const bool is_some = whole > 0.0f;
#if STORE_SUM
    if (lane == 0) {
      f32 value[1];
      const bool is_infinite = highest[i] > 0.0f ? highest[i] == tcc_inf_f32() : whole == 0.0f;
      value[0] = is_infinite ? highest[i] : highest[i] * SCALE + tcc_log_f32(whole);
      store_sum(TCC_BUFFERS batch, row, value);
    }
#endif
    const f32 inverse = 1.0f / whole;
    _Pragma("unroll") for (i32 g = 0; g < SEGMENTS; ++g) {
      f32 acc[SEGMENT];
      _Pragma("unroll") for (i32 c = 0; c < SEGMENT; ++c)
        acc[c] = is_some ? total[i][g * SEGMENT + c] * inverse : (SAFE != 0 ? 0.0f : tcc_nan_f32());
      epilogue(TCC_BUFFERS batch, row, g * THREADS_K + lane, acc);
    }
#endif
  }
}
