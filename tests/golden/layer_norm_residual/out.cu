// ==== add_sum_div_sub_mul [reduction] keep=2 row_threads=32 rows=8 vector=8
// h = add(x, residual) : bf16[64, 768]
// cast.2 = cast(h) : f32[64, 768]
// sum.16 = sum(cast.2) : f32[64, 1]
// mean.3 = div(sum.16, const.17) : f32[64, 1]
// sub.4 = sub(cast.2, mean.3) : f32[64, 768]
// mul.5 = mul(sub.4, sub.4) : f32[64, 768]
// sum.19 = sum(mul.5) : f32[64, 1]
// mean.6 = div(sum.19, const.17) : f32[64, 1]
// add.8 = add(mean.6, const.7) : f32[64, 1]
// rsqrt.9 = rsqrt(add.8) : f32[64, 1]
// mul.10 = mul(sub.4, rsqrt.9) : f32[64, 768]
// cast.11 = cast(weight) : f32[768]
// mul.12 = mul(mul.10, cast.11) : f32[64, 768]
// cast.13 = cast(bias) : f32[768]
// add.14 = add(mul.12, cast.13) : f32[64, 768]
// y = cast(add.14) : bf16[64, 768]

extern "C" __global__ void __launch_bounds__(256) add_sum_div_sub_mul_kernel(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, const u16* __restrict__ b3, u16* __restrict__ b4, u16* __restrict__ b5) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 31;
  i32 row = (thread >> 5) + block * 8;
  f32 sum_lane[8];
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    sum_lane[v] = 0.0f;
  }
  f32 kept[24];
  f32 early[24];
  f32 early1[24];
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 x[8];
    uint4 w = ((const uint4*)b0)[group + row * 96];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
    x[4] = tcc_bits_f32(w.z << 16);
    x[5] = tcc_bits_f32(w.z & 0xffff0000u);
    x[6] = tcc_bits_f32(w.w << 16);
    x[7] = tcc_bits_f32(w.w & 0xffff0000u);
    f32 x1[8];
    uint4 w1 = ((const uint4*)b1)[group + row * 96];
    x1[0] = tcc_bits_f32(w1.x << 16);
    x1[1] = tcc_bits_f32(w1.x & 0xffff0000u);
    x1[2] = tcc_bits_f32(w1.y << 16);
    x1[3] = tcc_bits_f32(w1.y & 0xffff0000u);
    x1[4] = tcc_bits_f32(w1.z << 16);
    x1[5] = tcc_bits_f32(w1.z & 0xffff0000u);
    x1[6] = tcc_bits_f32(w1.w << 16);
    x1[7] = tcc_bits_f32(w1.w & 0xffff0000u);
    f32 x2[8];
    uint4 w2 = tcc_cuda_load4((const uint4*)b2 + (group));
    x2[0] = tcc_bits_f32(w2.x << 16);
    x2[1] = tcc_bits_f32(w2.x & 0xffff0000u);
    x2[2] = tcc_bits_f32(w2.y << 16);
    x2[3] = tcc_bits_f32(w2.y & 0xffff0000u);
    x2[4] = tcc_bits_f32(w2.z << 16);
    x2[5] = tcc_bits_f32(w2.z & 0xffff0000u);
    x2[6] = tcc_bits_f32(w2.w << 16);
    x2[7] = tcc_bits_f32(w2.w & 0xffff0000u);
    f32 x3[8];
    uint4 w3 = tcc_cuda_load4((const uint4*)b3 + (group));
    x3[0] = tcc_bits_f32(w3.x << 16);
    x3[1] = tcc_bits_f32(w3.x & 0xffff0000u);
    x3[2] = tcc_bits_f32(w3.y << 16);
    x3[3] = tcc_bits_f32(w3.y & 0xffff0000u);
    x3[4] = tcc_bits_f32(w3.z << 16);
    x3[5] = tcc_bits_f32(w3.z & 0xffff0000u);
    x3[6] = tcc_bits_f32(w3.w << 16);
    x3[7] = tcc_bits_f32(w3.w & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      f32 c = x[v] + x1[v];
      kept[e * 8 + v] = c;
      early[e * 8 + v] = x2[v];
      early1[e * 8 + v] = x3[v];
      sum_lane[v] = sum_lane[v] + c;
    }
  }
  f32 sum = sum_lane[0];
  sum = sum + sum_lane[1];
  sum = sum + sum_lane[2];
  sum = sum + sum_lane[3];
  sum = sum + sum_lane[4];
  sum = sum + sum_lane[5];
  sum = sum + sum_lane[6];
  sum = sum + sum_lane[7];
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
  f32 sum_lane1[8];
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    sum_lane1[v] = 0.0f;
  }
  f32 kept1[24];
  f32 h = tcc_div_number_f32(sum, 768.0f, 0.0013020834f);
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      f32 c1 = kept[e * 8 + v] - h;
      kept1[e * 8 + v] = c1;
      sum_lane1[v] = sum_lane1[v] + (c1 * c1);
    }
  }
  f32 sum1 = sum_lane1[0];
  sum1 = sum1 + sum_lane1[1];
  sum1 = sum1 + sum_lane1[2];
  sum1 = sum1 + sum_lane1[3];
  sum1 = sum1 + sum_lane1[4];
  sum1 = sum1 + sum_lane1[5];
  sum1 = sum1 + sum_lane1[6];
  sum1 = sum1 + sum_lane1[7];
  f32 other5 = __shfl_xor_sync(0xffffffffu, sum1, 1u);
  sum1 = sum1 + other5;
  f32 other6 = __shfl_xor_sync(0xffffffffu, sum1, 2u);
  sum1 = sum1 + other6;
  f32 other7 = __shfl_xor_sync(0xffffffffu, sum1, 4u);
  sum1 = sum1 + other7;
  f32 other8 = __shfl_xor_sync(0xffffffffu, sum1, 8u);
  sum1 = sum1 + other8;
  f32 other9 = __shfl_xor_sync(0xffffffffu, sum1, 16u);
  sum1 = sum1 + other9;
  f32 h1 = tcc_rsqrt_f32(tcc_div_number_f32(sum1, 768.0f, 0.0013020834f) + 1e-05f);
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 y[8];
    f32 y1[8];
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      y[v] = kept[e * 8 + v];
      y1[v] = ((kept1[e * 8 + v] * h1) * early[e * 8 + v]) + early1[e * 8 + v];
    }
    ((uint4*)b4)[group + row * 96] = make_uint4(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3]), tcc_pack_bf16(y[4], y[5]), tcc_pack_bf16(y[6], y[7]));
    ((uint4*)b5)[group + row * 96] = make_uint4(tcc_pack_bf16(y1[0], y1[1]), tcc_pack_bf16(y1[2], y1[3]), tcc_pack_bf16(y1[4], y1[5]), tcc_pack_bf16(y1[6], y1[7]));
  }
}

