// ==== square_sum_mul [reduction] keep=0 row_threads=256 rows=1 vector=4
// s = square(x) : f32[32, 4096]
// sum.2 = sum(s) : f32[32]
// y = mul(sum.2, const.5) : f32[32]
__shared__ f32 exchange[256];

extern "C" __global__ void __launch_bounds__(256) square_sum_mul_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread;
  i32 row = block;
  f32 sum_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    sum_lane[v] = 0.0f;
  }
  {
    #pragma unroll
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 256 + lane;
      f32 x[4];
      uint4 w = ((const uint4*)b0)[group + row * 1024];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        sum_lane[v] = sum_lane[v] + (x[v] * x[v]);
      }
    }
  }
  f32 sum = sum_lane[0];
  sum = sum + sum_lane[1];
  sum = sum + sum_lane[2];
  sum = sum + sum_lane[3];
  f32 other = __shfl_xor_sync(0xffffffffu, sum, 1u);
  sum = sum + other;
  f32 other1 = __shfl_xor_sync(0xffffffffu, sum, 2u);
  sum = sum + other1;
  f32 other2 = __shfl_xor_sync(0xffffffffu, sum, 4u);
  sum = sum + other2;
  f32 other3 = __shfl_xor_sync(0xffffffffu, sum, 8u);
  sum = sum + other3;
  f32 other4 = __shfl_xor_sync(0xffffffffu, sum, 16u);
  sum = sum + other4;
  exchange[thread] = sum;
  __syncthreads();
  sum = exchange[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x1 = 0; x1 < 7; ++x1) {
    sum = sum + exchange[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
  }
  if (lane == 0) {
    b1[row] = sum * 0.00024414062f;
  }
}

