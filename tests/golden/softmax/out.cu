// ==== amax_sub_exp_sum_reciprocal [reduction] keep=1 row_threads=64 rows=4 vector=4
// amax.1 = amax(x) : f32[128, 1]
// sub.2 = sub(x, amax.1) : f32[128, 1000]
// exp.3 = exp(sub.2) : f32[128, 1000]
// sum.4 = sum(exp.3) : f32[128, 1]
// reciprocal.5 = reciprocal(sum.4) : f32[128, 1]
// y = mul(exp.3, reciprocal.5) : f32[128, 1000]
__shared__ f32 exchange[256];
__shared__ f32 exchange1[256];

extern "C" __global__ void __launch_bounds__(256) amax_sub_exp_sum_reciprocal_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 row = (thread >> 6) + block * 4;
  f32 max_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    max_lane[v] = -tcc_inf_f32();
  }
  f32 kept[16];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      f32 x[4];
      uint4 w = ((const uint4*)b0)[group + row * 250];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        kept[e * 4 + v] = x[v];
        max_lane[v] = tcc_max_number_f32(max_lane[v], x[v]);
      }
    }
  }
  f32 max1 = max_lane[0];
  max1 = tcc_max_number_f32(max1, max_lane[1]);
  max1 = tcc_max_number_f32(max1, max_lane[2]);
  max1 = tcc_max_number_f32(max1, max_lane[3]);
  f32 other = __shfl_xor_sync(0xffffffffu, max1, 1u);
  max1 = tcc_max_f32(max1, other);
  f32 other1 = __shfl_xor_sync(0xffffffffu, max1, 2u);
  max1 = tcc_max_f32(max1, other1);
  f32 other2 = __shfl_xor_sync(0xffffffffu, max1, 4u);
  max1 = tcc_max_f32(max1, other2);
  f32 other3 = __shfl_xor_sync(0xffffffffu, max1, 8u);
  max1 = tcc_max_f32(max1, other3);
  f32 other4 = __shfl_xor_sync(0xffffffffu, max1, 16u);
  max1 = tcc_max_f32(max1, other4);
  exchange[thread] = max1;
  __syncthreads();
  max1 = exchange[-((thread >> 5) & 1) * 32 + thread];
  {
    max1 = tcc_max_f32(max1, exchange[-((thread >> 5) & 1) * 32 + thread + 32]);
  }
  f32 sum_lane[4];
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    sum_lane[v] = 0.0f;
  }
  f32 kept1[16];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        f32 c = tcc_exp_f32(kept[e * 4 + v] - max1);
        kept1[e * 4 + v] = c;
        sum_lane[v] = sum_lane[v] + c;
      }
    }
  }
  f32 sum = sum_lane[0];
  sum = sum + sum_lane[1];
  sum = sum + sum_lane[2];
  sum = sum + sum_lane[3];
  f32 other5 = __shfl_xor_sync(0xffffffffu, sum, 1u);
  sum = sum + other5;
  f32 other6 = __shfl_xor_sync(0xffffffffu, sum, 2u);
  sum = sum + other6;
  f32 other7 = __shfl_xor_sync(0xffffffffu, sum, 4u);
  sum = sum + other7;
  f32 other8 = __shfl_xor_sync(0xffffffffu, sum, 8u);
  sum = sum + other8;
  f32 other9 = __shfl_xor_sync(0xffffffffu, sum, 16u);
  sum = sum + other9;
  exchange1[thread] = sum;
  __syncthreads();
  sum = exchange1[-((thread >> 5) & 1) * 32 + thread];
  {
    sum = sum + exchange1[-((thread >> 5) & 1) * 32 + thread + 32];
  }
  f32 h = tcc_div_f32(1.0f, sum);
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    if ((e * 64 + lane) < 250) {
      i32 group = e * 64 + lane;
      f32 y[4];
      #pragma unroll
      for (i32 v = 0; v < 4; ++v) {
        y[v] = kept1[e * 4 + v] * h;
      }
      ((uint4*)b1)[group + row * 250] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
    }
  }
}

