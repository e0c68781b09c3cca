// ==== square_sum_mul [reduction] keep=0 row_threads=256 rows=1 vector=4
// s = square(x) : f32[32, 4096]
// sum.2 = sum(s) : f32[32]
// y = mul(sum.2, const.5) : f32[32]
__shared__ f32 exchange0_f32[256];

extern "C" __global__ void __launch_bounds__(256) square_sum_mul_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread;
  i32 row = block;
  f32 sum0_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    sum0_lane[v] = 0.0f;
  }
  {
    #pragma unroll
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 256 + lane;
      f32 x0[4];
      uint4 w0 = ((const uint4*)b0)[group + row * 1024];
      x0[0] = tcc_bits_f32(w0.x);
      x0[1] = tcc_bits_f32(w0.y);
      x0[2] = tcc_bits_f32(w0.z);
      x0[3] = tcc_bits_f32(w0.w);
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        sum0_lane[v] = sum0_lane[v] + (x0[v] * x0[v]);
      }
    }
  }
  f32 sum0 = sum0_lane[0];
  sum0 = sum0 + sum0_lane[1];
  sum0 = sum0 + sum0_lane[2];
  sum0 = sum0 + sum0_lane[3];
  f32 other0 = __shfl_xor_sync(0xffffffffu, sum0, 1u);
  sum0 = sum0 + other0;
  f32 other1 = __shfl_xor_sync(0xffffffffu, sum0, 2u);
  sum0 = sum0 + other1;
  f32 other2 = __shfl_xor_sync(0xffffffffu, sum0, 4u);
  sum0 = sum0 + other2;
  f32 other3 = __shfl_xor_sync(0xffffffffu, sum0, 8u);
  sum0 = sum0 + other3;
  f32 other4 = __shfl_xor_sync(0xffffffffu, sum0, 16u);
  sum0 = sum0 + other4;
  exchange0_f32[thread] = sum0;
  __syncthreads();
  sum0 = exchange0_f32[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x5 = 0; x5 < 7; ++x5) {
    sum0 = sum0 + exchange0_f32[-(thread >> 5) * 32 + thread + x5 * 32 + 32];
  }
  if (lane == 0) {
    b1[row] = sum0 * 0.00024414062f;
  }
}

