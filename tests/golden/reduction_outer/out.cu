// ==== sum [reduction] keep=0 row_threads=128 rows=2 vector=4
// y = sum(x) : f32[1024]
__shared__ f32 exchange[256];
__shared__ f32 exchange1[256];
__shared__ f32 exchange2[256];
__shared__ f32 exchange3[256];

extern "C" __global__ void __launch_bounds__(256) sum_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread >> 1;
  i32 rows = (thread & 1) + block * 2;
  f32 sum[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    sum[v] = 0.0f;
  }
  {
    #pragma unroll
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 128 + lane;
      f32 x[4];
      uint4 w = ((const uint4*)b0)[group * 256 + rows];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        sum[v] = sum[v] + x[v];
      }
    }
  }
  f32 sum_row = sum[0];
  f32 sum_row1 = sum[1];
  f32 sum_row2 = sum[2];
  f32 sum_row3 = sum[3];
  f32 other = __shfl_xor_sync(0xffffffffu, sum_row, 2u);
  f32 other1 = __shfl_xor_sync(0xffffffffu, sum_row1, 2u);
  f32 other2 = __shfl_xor_sync(0xffffffffu, sum_row2, 2u);
  f32 other3 = __shfl_xor_sync(0xffffffffu, sum_row3, 2u);
  sum_row = sum_row + other;
  sum_row1 = sum_row1 + other1;
  sum_row2 = sum_row2 + other2;
  sum_row3 = sum_row3 + other3;
  f32 other4 = __shfl_xor_sync(0xffffffffu, sum_row, 4u);
  f32 other5 = __shfl_xor_sync(0xffffffffu, sum_row1, 4u);
  f32 other6 = __shfl_xor_sync(0xffffffffu, sum_row2, 4u);
  f32 other7 = __shfl_xor_sync(0xffffffffu, sum_row3, 4u);
  sum_row = sum_row + other4;
  sum_row1 = sum_row1 + other5;
  sum_row2 = sum_row2 + other6;
  sum_row3 = sum_row3 + other7;
  f32 other8 = __shfl_xor_sync(0xffffffffu, sum_row, 8u);
  f32 other9 = __shfl_xor_sync(0xffffffffu, sum_row1, 8u);
  f32 other10 = __shfl_xor_sync(0xffffffffu, sum_row2, 8u);
  f32 other11 = __shfl_xor_sync(0xffffffffu, sum_row3, 8u);
  sum_row = sum_row + other8;
  sum_row1 = sum_row1 + other9;
  sum_row2 = sum_row2 + other10;
  sum_row3 = sum_row3 + other11;
  f32 other12 = __shfl_xor_sync(0xffffffffu, sum_row, 16u);
  f32 other13 = __shfl_xor_sync(0xffffffffu, sum_row1, 16u);
  f32 other14 = __shfl_xor_sync(0xffffffffu, sum_row2, 16u);
  f32 other15 = __shfl_xor_sync(0xffffffffu, sum_row3, 16u);
  sum_row = sum_row + other12;
  sum_row1 = sum_row1 + other13;
  sum_row2 = sum_row2 + other14;
  sum_row3 = sum_row3 + other15;
  exchange[thread] = sum_row;
  exchange1[thread] = sum_row1;
  exchange2[thread] = sum_row2;
  exchange3[thread] = sum_row3;
  __syncthreads();
  sum_row = exchange[-(thread >> 5) * 32 + thread];
  sum_row1 = exchange1[-(thread >> 5) * 32 + thread];
  sum_row2 = exchange2[-(thread >> 5) * 32 + thread];
  sum_row3 = exchange3[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x1 = 0; x1 < 7; ++x1) {
    sum_row = sum_row + exchange[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row1 = sum_row1 + exchange1[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row2 = sum_row2 + exchange2[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row3 = sum_row3 + exchange3[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
  }
  sum[0] = sum_row;
  sum[1] = sum_row1;
  sum[2] = sum_row2;
  sum[3] = sum_row3;
  if (lane == 0) {
    f32 y[4];
    #pragma unroll
    for (i32 v = 0; v < 4; ++v) {
      y[v] = sum[v];
    }
    ((uint4*)b1)[rows] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
  }
}

