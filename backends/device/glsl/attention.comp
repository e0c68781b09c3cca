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
#define SCALE 0.125
#define INSIDE 0
#define SAFE 0
#define WEIGHTS 0
#define STORE_SUM 1
#define LISTS 0
#define WORKGROUP 64
#define GRID 4
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD gl_LocalInvocationIndex
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; Floats b3; };
layout(local_size_x = WORKGROUP) in;
f32 tcc_inf_f32() { return tcc_bits_f32(0x7f800000u); }
f32 tcc_nan_f32() { return tcc_bits_f32(0x7fc00000u); }
f32 tcc_exp_f32(f32 x) { return exp(x); }
f32 tcc_log_f32(f32 x) { return log(x); }
void load_q(i32 batch, i32 row, i32 d, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0.v[row * DEPTH + d * 4 + i];
}
void load_k(i32 batch, i32 row, i32 d, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b1.v[row * DEPTH + d * 4 + i];
}
void load_v(i32 batch, i32 row, i32 d, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b2.v[row * DEPTH_V + d * 4 + i];
}
void score(i32 batch, i32 query, i32 key, inout f32 v[4]) {}
void key_range(i32 batch, i32 tile, inout i32 range[4]) {
  range[0] = range[2] = 0;
  range[1] = range[3] = 128;
}
void epilogue(i32 batch, i32 row, i32 part, in f32 acc[4]) {
  for (i32 i = 0; i < 4; ++i) b3.v[row * DEPTH_V + part * 4 + i] = acc[i];
}
void store_sum(i32 batch, i32 row, in f32 value[1]) { b3.v[row] = value[0]; }
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
    [[unroll]] for (i32 u = 0; u < VECTORS_AT_ONCE; ++u) {                                                   \
      const i32 n = n0 + u * WORKGROUP;                                                                         \
      if ((count) % (VECTORS_AT_ONCE * WORKGROUP) == 0 || n < (count)) { load; }                                \
    }                                                                                                           \
    [[unroll]] for (i32 u = 0; u < VECTORS_AT_ONCE; ++u) {                                                   \
      const i32 n = n0 + u * WORKGROUP;                                                                         \
      if ((count) % (VECTORS_AT_ONCE * WORKGROUP) == 0 || n < (count)) {                                         \
        [[unroll]] for (i32 v = 0; v < VECTOR; ++v) to = values[u][v];                                        \
      }                                                                                                         \
    }                                                                                                           \
  }

shared f32 tile_q[DEPTH_PAD * STRIDE_Q];
shared f32 stage[STAGE_K > STAGE_V ? STAGE_K : STAGE_V];  // k, then v
shared f32 weights[BLOCK_K * STRIDE_Q];
shared f32 maxima[BLOCK_Q * THREADS_K];

TCC_ENTRY {
  i32 thread = i32(TCC_THREAD);
  INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  i32 number = i32(block / TILES_Q);  // of the batch's part
  i32 batch = number / PARTS;
  // The last queries often see the most keys: they begin first.
  i32 tile = TILES_Q - 1 - i32(block % TILES_Q);
  i32 row0 = tile * BLOCK_Q;
  i32 thread_row = thread / THREADS_K * THREAD_Q;
  i32 lane = thread % THREADS_K;

  STAGE(BLOCK_Q * Q_PER_ROW, Q_VECTOR,
        load_q(TCC_BUFFERS batch, row0 + n / Q_PER_ROW, n % Q_PER_ROW, values[u]),
        tile_q[(n % Q_PER_ROW * Q_VECTOR + v) * STRIDE_Q + n / Q_PER_ROW])

  f32 total[THREAD_Q][COLUMNS];
  f32 highest[THREAD_Q];
  f32 sum[THREAD_Q];  // of this thread's keys
  [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) {
    highest[i] = -tcc_inf_f32();
    sum[i] = 0.0;
    [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) total[i][c] = 0.0;
  }

  i32 bounds[4];
  key_range(TCC_BUFFERS batch, tile, bounds);
  i32 first = bounds[0] / BLOCK_K * BLOCK_K;
  i32 end = bounds[1];
#if PARTS > 1
  i32 share = ((end - first + BLOCK_K - 1) / BLOCK_K + PARTS - 1) / PARTS * BLOCK_K;
  first += number % PARTS * share;
  end = end < first + share ? end : first + share;
#endif
  // Keys behind the last one that is seen are not read.
  for (i32 key0 = first; key0 < end; key0 += BLOCK_K) {
#if LISTS
    if (tile_seen(TCC_BUFFERS batch, tile, key0 / BLOCK_K) == 0) continue;
#endif
    f32 s[THREAD_Q][THREAD_K];
    [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i)
      [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) s[i][j] = 0.0;
    for (i32 d0 = 0; d0 < DEPTH_PAD; d0 += BLOCK_D) {
      barrier();
      STAGE(BLOCK_K * K_PER_ROW, K_VECTOR,
            load_k(TCC_BUFFERS batch, min(key0 + n / K_PER_ROW, end - 1), d0 / K_VECTOR + n % K_PER_ROW, values[u]),
            stage[(n % K_PER_ROW * K_VECTOR + v) * STRIDE_K + n / K_PER_ROW])
      barrier();
#if DEPTH > FOLDED
      f32 sums[THREAD_Q][THREAD_K];
      [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i)
        [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) sums[i][j] = 0.0;
#else
#define sums s
#endif
      for (i32 d = 0; d < BLOCK_D; ++d) {
        f32 q[THREAD_Q];
        f32 k[THREAD_K];
        [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) q[i] = tile_q[(d0 + d) * STRIDE_Q + thread_row + i];
        [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) k[j] = stage[d * STRIDE_K + lane * THREAD_K + j];
        [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i)
          [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) sums[i][j] = fma(q[i], k[j], sums[i][j]);
      }
#if DEPTH > FOLDED
      [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i)
        [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) s[i][j] += sums[i][j];
#endif
    }

    [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) {
      i32 row = row0 + thread_row + i;
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
      [[unroll]] for (i32 j = 1; j < THREAD_K; ++j) most = max(most, s[i][j]);
      maxima[(thread_row + i) * THREADS_K + lane] = most;
    }
    barrier();

    f32 part[THREAD_Q][COLUMNS];
    f32 shrunk[THREAD_Q];
    [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) {
      f32 most = highest[i];
      for (i32 t = 0; t < THREADS_K; ++t) most = max(most, maxima[(thread_row + i) * THREADS_K + t]);
      // A row that has seen no key yet has no maximum: its terms are 0.
      f32 base = most == -tcc_inf_f32() ? 0.0 : most * SCALE;
      shrunk[i] = tcc_exp_f32(highest[i] * SCALE - base);
      highest[i] = most;
      f32 terms = 0.0;
      [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) {
        s[i][j] = tcc_exp_f32(s[i][j] * SCALE - base);
        terms += s[i][j];
      }
#if WEIGHTS
      weight(TCC_BUFFERS batch, row0 + thread_row + i, key0 + lane * THREAD_K, s[i]);
#endif
      [[unroll]] for (i32 j = 0; j < THREAD_K; ++j) weights[(lane * THREAD_K + j) * STRIDE_Q + thread_row + i] = s[i][j];
      sum[i] = fma(sum[i], shrunk[i], terms);
      [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) part[i][c] = 0.0;
    }

    for (i32 k0 = 0; k0 < BLOCK_K; k0 += BLOCK_D) {
      if (k0 > 0) barrier();
      STAGE(BLOCK_D * V_PER_ROW, V_VECTOR,
            load_v(TCC_BUFFERS batch, min(key0 + k0 + n / V_PER_ROW, end - 1), n % V_PER_ROW, values[u]),
            stage[n / V_PER_ROW * STRIDE_V + n % V_PER_ROW * V_VECTOR + v])
      barrier();
      for (i32 k = 0; k < BLOCK_D; ++k) {
        f32 w[THREAD_Q];
        [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) w[i] = weights[(k0 + k) * STRIDE_Q + thread_row + i];
        [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) {
          f32 v = stage[k * STRIDE_V + (c / SEGMENT * THREADS_K + lane) * SEGMENT + c % SEGMENT];
          [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) part[i][c] = fma(w[i], v, part[i][c]);
        }
      }
    }
    // Sums of one tile join those of the tiles before, so that long sums stay exact.
    [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i)
      [[unroll]] for (i32 c = 0; c < COLUMNS; ++c) total[i][c] = fma(total[i][c], shrunk[i], part[i][c]);
  }

  barrier();
  [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) maxima[(thread_row + i) * THREADS_K + lane] = sum[i];
  barrier();
  [[unroll]] for (i32 i = 0; i < THREAD_Q; ++i) {
    i32 row = row0 + thread_row + i;
    f32 whole = 0.0;
    for (i32 t = 0; t < THREADS_K; ++t) whole += maxima[(thread_row + i) * THREADS_K + t];
#if PARTS > 1
    if (lane == 0) {
      f32 values[2];
      values[0] = highest[i] * SCALE;
      values[1] = whole;
      store_part_sums(TCC_BUFFERS number, row, values);
    }
    [[unroll]] for (i32 g = 0; g < SEGMENTS; ++g) {
      f32 acc[SEGMENT];
      [[unroll]] for (i32 c = 0; c < SEGMENT; ++c) acc[c] = total[i][g * SEGMENT + c];
      store_part(TCC_BUFFERS number, row, g * THREADS_K + lane, acc);
    }
#else
    // A row that sees no key has no weights. One with a NaN has a sum of NaN.
    bool is_some = whole > 0.0;
#if STORE_SUM
    if (lane == 0) {
      f32 value[1];
      bool is_infinite = highest[i] > 0.0 ? highest[i] == tcc_inf_f32() : whole == 0.0;
      value[0] = is_infinite ? highest[i] : highest[i] * SCALE + tcc_log_f32(whole);
      store_sum(TCC_BUFFERS batch, row, value);
    }
#endif
    f32 inverse = 1.0 / whole;
    [[unroll]] for (i32 g = 0; g < SEGMENTS; ++g) {
      f32 acc[SEGMENT];
      [[unroll]] for (i32 c = 0; c < SEGMENT; ++c)
        acc[c] = is_some ? total[i][g * SEGMENT + c] * inverse : (SAFE != 0 ? 0.0 : tcc_nan_f32());
      epilogue(TCC_BUFFERS batch, row, g * THREADS_K + lane, acc);
    }
#endif
  }
}
