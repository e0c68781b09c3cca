// c[M, N] = a[M, K] b[K, N], row-major: matmul.cu in GLSL.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require

#define THREADS_M (TILE_M / THREAD_M)
#define THREADS_N (TILE_N / THREAD_N)
#define THREADS (THREADS_M * THREADS_N)
#define STRIDE_A (TILE_M + PAD)

layout(local_size_x = THREADS_N, local_size_y = THREADS_M) in;
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer Input { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Output { float at[]; };
layout(push_constant) uniform Arguments { Input a; Input b; Output c; };

shared float tile_a[TILE_K * STRIDE_A];  // k-major, read along m
shared float tile_b[TILE_K * TILE_N];

void main() {
  const uint thread = gl_LocalInvocationIndex;
  const uint row0 = gl_WorkGroupID.y * TILE_M, column0 = gl_WorkGroupID.x * TILE_N;
  const uint y = gl_LocalInvocationID.y, x = gl_LocalInvocationID.x;

  float sum[THREAD_M][THREAD_N];
  [[unroll]] for (int i = 0; i < THREAD_M; ++i)
    [[unroll]] for (int j = 0; j < THREAD_N; ++j) sum[i][j] = 0.0;

  for (uint k0 = 0; k0 < K; k0 += TILE_K) {
    for (uint i = thread; i < TILE_M * TILE_K; i += THREADS) {
      const uint row = i / TILE_K, k = i % TILE_K;
      const bool inside = row0 + row < M && k0 + k < K;
      tile_a[k * STRIDE_A + row] = inside ? a.at[(row0 + row) * K + k0 + k] : 0.0;
    }
    for (uint i = thread; i < TILE_K * TILE_N; i += THREADS) {
      const uint k = i / TILE_N, column = i % TILE_N;
      const bool inside = k0 + k < K && column0 + column < N;
      tile_b[i] = inside ? b.at[(k0 + k) * N + column0 + column] : 0.0;
    }
    barrier();
    [[unroll]] for (int k = 0; k < TILE_K; ++k) {
      float row_values[THREAD_M], column_values[THREAD_N];
      [[unroll]] for (int i = 0; i < THREAD_M; ++i)
        row_values[i] = tile_a[k * STRIDE_A + y + i * THREADS_M];
      [[unroll]] for (int j = 0; j < THREAD_N; ++j)
        column_values[j] = tile_b[k * TILE_N + x + j * THREADS_N];
      [[unroll]] for (int i = 0; i < THREAD_M; ++i)
        [[unroll]] for (int j = 0; j < THREAD_N; ++j) sum[i][j] += row_values[i] * column_values[j];
    }
    barrier();
  }

  [[unroll]] for (int i = 0; i < THREAD_M; ++i) {
    const uint row = row0 + y + i * THREADS_M;
    [[unroll]] for (int j = 0; j < THREAD_N; ++j) {
      const uint column = column0 + x + j * THREADS_N;
      if (row < M && column < N) c.at[row * N + column] = sum[i][j];
    }
  }
}
