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
  f32 sum0_lane[8];
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    sum0_lane[v] = 0.0f;
  }
  f32 kept0[24];
  f32 early2[24];
  f32 early3[24];
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 x4[8];
    uint4 w0 = ((const uint4*)b0)[group + row * 96];
    x4[0] = tcc_bits_f32(w0.x << 16);
    x4[1] = tcc_bits_f32(w0.x & 0xffff0000u);
    x4[2] = tcc_bits_f32(w0.y << 16);
    x4[3] = tcc_bits_f32(w0.y & 0xffff0000u);
    x4[4] = tcc_bits_f32(w0.z << 16);
    x4[5] = tcc_bits_f32(w0.z & 0xffff0000u);
    x4[6] = tcc_bits_f32(w0.w << 16);
    x4[7] = tcc_bits_f32(w0.w & 0xffff0000u);
    f32 x5[8];
    uint4 w1 = ((const uint4*)b1)[group + row * 96];
    x5[0] = tcc_bits_f32(w1.x << 16);
    x5[1] = tcc_bits_f32(w1.x & 0xffff0000u);
    x5[2] = tcc_bits_f32(w1.y << 16);
    x5[3] = tcc_bits_f32(w1.y & 0xffff0000u);
    x5[4] = tcc_bits_f32(w1.z << 16);
    x5[5] = tcc_bits_f32(w1.z & 0xffff0000u);
    x5[6] = tcc_bits_f32(w1.w << 16);
    x5[7] = tcc_bits_f32(w1.w & 0xffff0000u);
    f32 x6[8];
    uint4 w2 = tcc_cuda_load4((const uint4*)b2 + (group));
    x6[0] = tcc_bits_f32(w2.x << 16);
    x6[1] = tcc_bits_f32(w2.x & 0xffff0000u);
    x6[2] = tcc_bits_f32(w2.y << 16);
    x6[3] = tcc_bits_f32(w2.y & 0xffff0000u);
    x6[4] = tcc_bits_f32(w2.z << 16);
    x6[5] = tcc_bits_f32(w2.z & 0xffff0000u);
    x6[6] = tcc_bits_f32(w2.w << 16);
    x6[7] = tcc_bits_f32(w2.w & 0xffff0000u);
    f32 x7[8];
    uint4 w3 = tcc_cuda_load4((const uint4*)b3 + (group));
    x7[0] = tcc_bits_f32(w3.x << 16);
    x7[1] = tcc_bits_f32(w3.x & 0xffff0000u);
    x7[2] = tcc_bits_f32(w3.y << 16);
    x7[3] = tcc_bits_f32(w3.y & 0xffff0000u);
    x7[4] = tcc_bits_f32(w3.z << 16);
    x7[5] = tcc_bits_f32(w3.z & 0xffff0000u);
    x7[6] = tcc_bits_f32(w3.w << 16);
    x7[7] = tcc_bits_f32(w3.w & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      f32 c8 = x4[v] + x5[v];
      kept0[e * 8 + v] = c8;
      early2[e * 8 + v] = x6[v];
      early3[e * 8 + v] = x7[v];
      sum0_lane[v] = sum0_lane[v] + c8;
    }
  }
  f32 sum0 = sum0_lane[0];
  sum0 = sum0 + sum0_lane[1];
  sum0 = sum0 + sum0_lane[2];
  sum0 = sum0 + sum0_lane[3];
  sum0 = sum0 + sum0_lane[4];
  sum0 = sum0 + sum0_lane[5];
  sum0 = sum0 + sum0_lane[6];
  sum0 = sum0 + sum0_lane[7];
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
  f32 sum1_lane[8];
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    sum1_lane[v] = 0.0f;
  }
  f32 kept1[24];
  f32 h9 = tcc_div_f32(sum0, 768.0f);
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      f32 c10 = kept0[e * 8 + v] - h9;
      kept1[e * 8 + v] = c10;
      sum1_lane[v] = sum1_lane[v] + (c10 * c10);
    }
  }
  f32 sum1 = sum1_lane[0];
  sum1 = sum1 + sum1_lane[1];
  sum1 = sum1 + sum1_lane[2];
  sum1 = sum1 + sum1_lane[3];
  sum1 = sum1 + sum1_lane[4];
  sum1 = sum1 + sum1_lane[5];
  sum1 = sum1 + sum1_lane[6];
  sum1 = sum1 + sum1_lane[7];
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
  f32 h11 = tcc_rsqrt_f32(tcc_div_f32(sum1, 768.0f) + 1e-05f);
  #pragma unroll
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 y12[8];
    f32 y13[8];
    #pragma unroll
    for (i32 v = 0; v < 8; ++v) {
      y12[v] = kept0[e * 8 + v];
      y13[v] = ((kept1[e * 8 + v] * h11) * early2[e * 8 + v]) + early3[e * 8 + v];
    }
    ((uint4*)b4)[group + row * 96] = make_uint4(tcc_pack_bf16(y12[0], y12[1]), tcc_pack_bf16(y12[2], y12[3]), tcc_pack_bf16(y12[4], y12[5]), tcc_pack_bf16(y12[6], y12[7]));
    ((uint4*)b5)[group + row * 96] = make_uint4(tcc_pack_bf16(y13[0], y13[1]), tcc_pack_bf16(y13[2], y13[3]), tcc_pack_bf16(y13[4], y13[5]), tcc_pack_bf16(y13[6], y13[7]));
  }
}

