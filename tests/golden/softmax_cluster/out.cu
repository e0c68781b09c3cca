// ==== amax_sub_exp_sum_reciprocal [reduction] cluster=8 keep=1 row_threads=512 rows=1 vector=8
// cast.1 = cast(x) : f32[64, 131072]
// amax.2 = amax(cast.1) : f32[64, 1]
// sub.3 = sub(cast.1, amax.2) : f32[64, 131072]
// exp.4 = exp(sub.3) : f32[64, 131072]
// sum.5 = sum(exp.4) : f32[64, 1]
// reciprocal.6 = reciprocal(sum.5) : f32[64, 1]
// mul.7 = mul(exp.4, reciprocal.6) : f32[64, 131072]
// y = cast(mul.7) : bf16[64, 131072]
__shared__ f32 exchange[512];
__shared__ f32 exchange1[512];
__shared__ f32 max_of[8];
__shared__ f32 sum_of[8];
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
  f32 max1 = -tcc_inf_f32();
  f32 sum = 0.0f;
  f32 x_at[32];
  #pragma unroll
  for (i32 e = 0; e < 4; ++e) {
    i32 group = e * 4096 + lane;
    f32 x[8];
    uint4 w = ((const uint4*)b0)[group + row * 16384];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
    x[4] = tcc_bits_f32(w.z << 16);
    x[5] = tcc_bits_f32(w.z & 0xffff0000u);
    x[6] = tcc_bits_f32(w.w << 16);
    x[7] = tcc_bits_f32(w.w & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      x_at[e * 8 + v] = x[v];
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
      part[v] = tcc_max_number_f32(part[v], x_at[e * 8 + v]);
    }
  }
  f32 higher = max1;
  higher = tcc_max_number_f32(higher, part[0]);
  higher = tcc_max_number_f32(higher, part[1]);
  higher = tcc_max_number_f32(higher, part[2]);
  higher = tcc_max_number_f32(higher, part[3]);
  higher = tcc_max_number_f32(higher, part[4]);
  higher = tcc_max_number_f32(higher, part[5]);
  higher = tcc_max_number_f32(higher, part[6]);
  higher = tcc_max_number_f32(higher, part[7]);
  f32 base = (higher == (-tcc_inf_f32())) ? 0.0f : higher;
  sum = sum * tcc_exp_term_f32(max1 - base);
  max1 = higher;
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
  sum = sum + part[0];
  sum = sum + part[1];
  sum = sum + part[2];
  sum = sum + part[3];
  sum = sum + part[4];
  sum = sum + part[5];
  sum = sum + part[6];
  sum = sum + part[7];
  f32 own = max1;
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
  max1 = exchange[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x1 = 0; x1 < 15; ++x1) {
    max1 = tcc_max_f32(max1, exchange[-(thread >> 5) * 32 + thread + x1 * 32 + 32]);
  }
  f32 row_base = (max1 == (-tcc_inf_f32())) ? 0.0f : max1;
  sum = sum * tcc_exp_term_f32(own - row_base);
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
  sum = exchange1[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x2 = 0; x2 < 15; ++x2) {
    sum = sum + exchange1[-(thread >> 5) * 32 + thread + x2 * 32 + 32];
  }
  tcc_cuda_cluster_wait();
  tcc_cuda_send(max_of, max1, 8, exchanges + 0);
  tcc_cuda_send(sum_of, sum, 8, exchanges + 0);
  tcc_cuda_await(exchanges + 0);
  max1 = max_of[0];
  #pragma unroll
  for (i32 rank = 0; rank < 7; ++rank) {
    max1 = tcc_max_f32(max1, max_of[rank + 1]);
  }
  row_base = (max1 == (-tcc_inf_f32())) ? 0.0f : max1;
  sum = 0.0f;
  #pragma unroll
  for (i32 rank1 = 0; rank1 < 8; ++rank1) {
    sum = sum + (sum_of[rank1] * tcc_exp_term_f32(max_of[rank1] - row_base));
  }
  sum = sum + (max1 - max1);
  f32 factor = tcc_exp_term_f32(own - row_base);
  f32 h = factor * tcc_div_f32(1.0f, sum);
  #pragma unroll
  for (i32 e1 = 0; e1 < 4; ++e1) {
    i32 group = e1 * 4096 + lane;
    f32 y[8];
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      y[v] = terms[e1 * 8 + v] * h;
    }
    ((uint4*)b1)[group + row * 16384] = make_uint4(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3]), tcc_pack_bf16(y[4], y[5]), tcc_pack_bf16(y[6], y[7]));
  }
}

