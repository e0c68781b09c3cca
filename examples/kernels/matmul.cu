// c[M, N] = a[M, K] b[K, N], row-major. A workgroup makes a TILE_M x TILE_N tile of c; each of its threads makes
// THREAD_M x THREAD_N elements of the tile in registers, as far apart as there are threads, so that neighbouring
// threads read and write neighbouring columns.

#define THREADS_M (TILE_M / THREAD_M)
#define THREADS_N (TILE_N / THREAD_N)
#define THREADS (THREADS_M * THREADS_N)
#define STRIDE_A (TILE_M + PAD)

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  extern __shared__ float tiles[];
  float* tile_a = tiles;                      // [TILE_K][STRIDE_A]: k-major, read along m
  float* tile_b = tiles + TILE_K * STRIDE_A;  // [TILE_K][TILE_N]
  const int thread = threadIdx.y * THREADS_N + threadIdx.x;
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;

  float sum[THREAD_M][THREAD_N] = {};
  for (int k0 = 0; k0 < K; k0 += TILE_K) {
    for (int i = thread; i < TILE_M * TILE_K; i += THREADS) {
      const int row = i / TILE_K, k = i % TILE_K;
      const bool inside = row0 + row < M && k0 + k < K;
      tile_a[k * STRIDE_A + row] = inside ? a[size_t(row0 + row) * K + k0 + k] : 0.0f;
    }
    for (int i = thread; i < TILE_K * TILE_N; i += THREADS) {
      const int k = i / TILE_N, column = i % TILE_N;
      const bool inside = k0 + k < K && column0 + column < N;
      tile_b[i] = inside ? b[size_t(k0 + k) * N + column0 + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE_K; ++k) {
      float row_values[THREAD_M], column_values[THREAD_N];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i)
        row_values[i] = tile_a[k * STRIDE_A + threadIdx.y + i * THREADS_M];
#pragma unroll
      for (int j = 0; j < THREAD_N; ++j)
        column_values[j] = tile_b[k * TILE_N + threadIdx.x + j * THREADS_N];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (int j = 0; j < THREAD_N; ++j) sum[i][j] += row_values[i] * column_values[j];
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < THREAD_M; ++i) {
    const int row = row0 + threadIdx.y + i * THREADS_M;
#pragma unroll
    for (int j = 0; j < THREAD_N; ++j) {
      const int column = column0 + threadIdx.x + j * THREADS_N;
      if (row < M && column < N) c[size_t(row) * N + column] = sum[i][j];
    }
  }
}
