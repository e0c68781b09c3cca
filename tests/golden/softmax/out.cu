// ==== amax_sub_exp_sum_reciprocal [reduction] keep=1 row_threads=64 rows=4 vector=4
// amax.1 = amax(x) : f32[128, 1]
// sub.2 = sub(x, amax.1) : f32[128, 1000]
// exp.3 = exp(sub.2) : f32[128, 1000]
// sum.4 = sum(exp.3) : f32[128, 1]
// reciprocal.5 = reciprocal(sum.4) : f32[128, 1]
// y = mul(exp.3, reciprocal.5) : f32[128, 1000]
__shared__ f32 exchange0_f32[256];
__shared__ f32 exchange1_f32[256];

extern "C" __global__ void __launch_bounds__(256) amax_sub_exp_sum_reciprocal_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 row = (thread >> 6) + block * 4;
  f32 max0_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    max0_lane[v] = -tcc_inf_f32();
  }
  f32 kept0[16];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      f32 x2[4];
      uint4 w0 = ((const uint4*)b0)[group + row * 250];
      x2[0] = tcc_bits_f32(w0.x);
      x2[1] = tcc_bits_f32(w0.y);
      x2[2] = tcc_bits_f32(w0.z);
      x2[3] = tcc_bits_f32(w0.w);
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        kept0[e * 4 + v] = x2[v];
        max0_lane[v] = tcc_max_f32(max0_lane[v], x2[v]);
      }
    }
  }
  f32 max0 = max0_lane[0];
  max0 = tcc_max_f32(max0, max0_lane[1]);
  max0 = tcc_max_f32(max0, max0_lane[2]);
  max0 = tcc_max_f32(max0, max0_lane[3]);
  f32 other0 = __shfl_xor_sync(0xffffffffu, max0, 1u);
  max0 = tcc_max_f32(max0, other0);
  f32 other1 = __shfl_xor_sync(0xffffffffu, max0, 2u);
  max0 = tcc_max_f32(max0, other1);
  f32 other2 = __shfl_xor_sync(0xffffffffu, max0, 4u);
  max0 = tcc_max_f32(max0, other2);
  f32 other3 = __shfl_xor_sync(0xffffffffu, max0, 8u);
  max0 = tcc_max_f32(max0, other3);
  f32 other4 = __shfl_xor_sync(0xffffffffu, max0, 16u);
  max0 = tcc_max_f32(max0, other4);
  exchange0_f32[thread] = max0;
  __syncthreads();
  max0 = exchange0_f32[-((thread >> 5) & 1) * 32 + thread];
  {
    max0 = tcc_max_f32(max0, exchange0_f32[-((thread >> 5) & 1) * 32 + thread + 32]);
  }
  f32 sum1_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    sum1_lane[v] = 0.0f;
  }
  f32 kept1[16];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        f32 c3 = tcc_exp_f32(kept0[e * 4 + v] - max0);
        kept1[e * 4 + v] = c3;
        sum1_lane[v] = sum1_lane[v] + c3;
      }
    }
  }
  f32 sum1 = sum1_lane[0];
  sum1 = sum1 + sum1_lane[1];
  sum1 = sum1 + sum1_lane[2];
  sum1 = sum1 + sum1_lane[3];
  f32 other6 = __shfl_xor_sync(0xffffffffu, sum1, 1u);
  sum1 = sum1 + other6;
  f32 other7 = __shfl_xor_sync(0xffffffffu, sum1, 2u);
  sum1 = sum1 + other7;
  f32 other8 = __shfl_xor_sync(0xffffffffu, sum1, 4u);
  sum1 = sum1 + other8;
  f32 other9 = __shfl_xor_sync(0xffffffffu, sum1, 8u);
  sum1 = sum1 + other9;
  f32 other10 = __shfl_xor_sync(0xffffffffu, sum1, 16u);
  sum1 = sum1 + other10;
  exchange1_f32[thread] = sum1;
  __syncthreads();
  sum1 = exchange1_f32[-((thread >> 5) & 1) * 32 + thread];
  {
    sum1 = sum1 + exchange1_f32[-((thread >> 5) & 1) * 32 + thread + 32];
  }
  f32 h4 = tcc_div_f32(1.0f, sum1);
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      f32 y5[4];
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        y5[v] = kept1[e * 4 + v] * h4;
      }
      ((uint4*)b1)[group + row * 250] = make_uint4(tcc_f32_bits(y5[0]), tcc_f32_bits(y5[1]), tcc_f32_bits(y5[2]), tcc_f32_bits(y5[3]));
    }
  }
}

