// ==== amax_sub_exp_sum_reciprocal [reduction] cluster=8 keep=1 row_threads=512 rows=1 vector=8
// cast.1 = cast(x) : f32[64, 131072]
// amax.2 = amax(cast.1) : f32[64, 1]
// sub.3 = sub(cast.1, amax.2) : f32[64, 131072]
// exp.4 = exp(sub.3) : f32[64, 131072]
// sum.5 = sum(exp.4) : f32[64, 1]
// reciprocal.6 = reciprocal(sum.5) : f32[64, 1]
// mul.7 = mul(exp.4, reciprocal.6) : f32[64, 131072]
// y = cast(mul.7) : bf16[64, 131072]
__shared__ f32 exchange0_f32[512];
__shared__ f32 exchange1_f32[512];
__shared__ f32 max0_of[8];
__shared__ f32 sum1_of[8];
__shared__ u64 exchanges[1];

extern "C" __global__ void __launch_bounds__(512) __cluster_dims__(8) amax_sub_exp_sum_reciprocal_kernel(const u16* __restrict__ b0, u16* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  tcc_cuda_expect(exchanges + 0, 64);
  tcc_cuda_cluster_arrive();
  i32 lane = (block & 7) * 512 + thread;
  i32 row = block >> 3;
  f32 max0 = -tcc_inf_f32();
  f32 sum1 = 0.0f;
  f32 x_at[32];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    i32 group = e * 4096 + lane;
    f32 x0[8];
    uint4 w0 = ((const uint4*)b0)[group + row * 16384];
    x0[0] = tcc_bits_f32(w0.x << 16);
    x0[1] = tcc_bits_f32(w0.x & 0xffff0000u);
    x0[2] = tcc_bits_f32(w0.y << 16);
    x0[3] = tcc_bits_f32(w0.y & 0xffff0000u);
    x0[4] = tcc_bits_f32(w0.z << 16);
    x0[5] = tcc_bits_f32(w0.z & 0xffff0000u);
    x0[6] = tcc_bits_f32(w0.w << 16);
    x0[7] = tcc_bits_f32(w0.w & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      x_at[e * 8 + v] = x0[v];
    }
  }
  f32 part[8];
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    part[v] = x_at[v];
  }
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      part[v] = tcc_max_f32(part[v], x_at[e * 8 + v]);
    }
  }
  f32 higher = max0;
  higher = tcc_max_f32(higher, part[0]);
  higher = tcc_max_f32(higher, part[1]);
  higher = tcc_max_f32(higher, part[2]);
  higher = tcc_max_f32(higher, part[3]);
  higher = tcc_max_f32(higher, part[4]);
  higher = tcc_max_f32(higher, part[5]);
  higher = tcc_max_f32(higher, part[6]);
  higher = tcc_max_f32(higher, part[7]);
  f32 base = (higher == (-tcc_inf_f32())) ? 0.0f : higher;
  sum1 = sum1 * tcc_exp_term_f32(max0 - base);
  max0 = higher;
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    part[v] = 0.0f;
  }
  f32 terms[32];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      terms[e * 8 + v] = tcc_exp_term_f32(x_at[e * 8 + v] - base);
      part[v] = part[v] + terms[e * 8 + v];
    }
  }
  sum1 = sum1 + part[0];
  sum1 = sum1 + part[1];
  sum1 = sum1 + part[2];
  sum1 = sum1 + part[3];
  sum1 = sum1 + part[4];
  sum1 = sum1 + part[5];
  sum1 = sum1 + part[6];
  sum1 = sum1 + part[7];
  f32 own = max0;
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
  max0 = exchange0_f32[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x5 = 0; x5 < 15; ++x5) {
    max0 = tcc_max_f32(max0, exchange0_f32[-(thread >> 5) * 32 + thread + x5 * 32 + 32]);
  }
  f32 row_base = (max0 == (-tcc_inf_f32())) ? 0.0f : max0;
  sum1 = sum1 * tcc_exp_term_f32(own - row_base);
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
  sum1 = exchange1_f32[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x11 = 0; x11 < 15; ++x11) {
    sum1 = sum1 + exchange1_f32[-(thread >> 5) * 32 + thread + x11 * 32 + 32];
  }
  tcc_cuda_cluster_wait();
  tcc_cuda_send(max0_of, max0, 8, exchanges + 0);
  tcc_cuda_send(sum1_of, sum1, 8, exchanges + 0);
  tcc_cuda_await(exchanges + 0);
  max0 = max0_of[0];
  #pragma unroll
  for (i32 rank = 0; rank < 7; ++rank) {
    max0 = tcc_max_f32(max0, max0_of[rank + 1]);
  }
  row_base = (max0 == (-tcc_inf_f32())) ? 0.0f : max0;
  sum1 = 0.0f;
  #pragma unroll
  for (i32 rank = 0; rank < 8; ++rank) {
    sum1 = sum1 + (sum1_of[rank] * tcc_exp_term_f32(max0_of[rank] - row_base));
  }
  sum1 = sum1 + (max0 - max0);
  f32 factor = tcc_exp_term_f32(own - row_base);
  f32 h1 = factor * tcc_div_f32(1.0f, sum1);
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    i32 group = e * 4096 + lane;
    f32 y2[8];
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      y2[v] = terms[e * 8 + v] * h1;
    }
    ((uint4*)b1)[group + row * 16384] = make_uint4(tcc_pack_bf16(y2[0], y2[1]), tcc_pack_bf16(y2[2], y2[3]), tcc_pack_bf16(y2[4], y2[5]), tcc_pack_bf16(y2[6], y2[7]));
  }
}

