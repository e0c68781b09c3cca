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
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(buffer_reference, std430, buffer_reference_align = 2) restrict readonly buffer In_bf16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) restrict writeonly buffer Out_bf16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4 {
  uvec4 v[];
};
layout(push_constant) uniform Arguments {
  In_bf16 b0;
  In_bf16 b1;
  In_bf16 b2;
  In_bf16 b3;
  Out_bf16 b4;
  Out_bf16 b5;
};
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread & 31;
  i32 row = (thread >> 5) + block * 8;
  f32 sum0_lane[8];
  [[unroll]]
  for (i32 v = 0; v < 8; ++v) {
    sum0_lane[v] = 0.0f;
  }
  f32 kept0[24];
  f32 early2[24];
  f32 early3[24];
  [[unroll]]
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 x4[8];
    uvec4 w0 = Words4(b0).v[group + row * 96];
    x4[0] = tcc_bits_f32(w0.x << 16);
    x4[1] = tcc_bits_f32(w0.x & 0xffff0000u);
    x4[2] = tcc_bits_f32(w0.y << 16);
    x4[3] = tcc_bits_f32(w0.y & 0xffff0000u);
    x4[4] = tcc_bits_f32(w0.z << 16);
    x4[5] = tcc_bits_f32(w0.z & 0xffff0000u);
    x4[6] = tcc_bits_f32(w0.w << 16);
    x4[7] = tcc_bits_f32(w0.w & 0xffff0000u);
    f32 x5[8];
    uvec4 w1 = Words4(b1).v[group + row * 96];
    x5[0] = tcc_bits_f32(w1.x << 16);
    x5[1] = tcc_bits_f32(w1.x & 0xffff0000u);
    x5[2] = tcc_bits_f32(w1.y << 16);
    x5[3] = tcc_bits_f32(w1.y & 0xffff0000u);
    x5[4] = tcc_bits_f32(w1.z << 16);
    x5[5] = tcc_bits_f32(w1.z & 0xffff0000u);
    x5[6] = tcc_bits_f32(w1.w << 16);
    x5[7] = tcc_bits_f32(w1.w & 0xffff0000u);
    f32 x6[8];
    uvec4 w2 = Words4(b2).v[group];
    x6[0] = tcc_bits_f32(w2.x << 16);
    x6[1] = tcc_bits_f32(w2.x & 0xffff0000u);
    x6[2] = tcc_bits_f32(w2.y << 16);
    x6[3] = tcc_bits_f32(w2.y & 0xffff0000u);
    x6[4] = tcc_bits_f32(w2.z << 16);
    x6[5] = tcc_bits_f32(w2.z & 0xffff0000u);
    x6[6] = tcc_bits_f32(w2.w << 16);
    x6[7] = tcc_bits_f32(w2.w & 0xffff0000u);
    f32 x7[8];
    uvec4 w3 = Words4(b3).v[group];
    x7[0] = tcc_bits_f32(w3.x << 16);
    x7[1] = tcc_bits_f32(w3.x & 0xffff0000u);
    x7[2] = tcc_bits_f32(w3.y << 16);
    x7[3] = tcc_bits_f32(w3.y & 0xffff0000u);
    x7[4] = tcc_bits_f32(w3.z << 16);
    x7[5] = tcc_bits_f32(w3.z & 0xffff0000u);
    x7[6] = tcc_bits_f32(w3.w << 16);
    x7[7] = tcc_bits_f32(w3.w & 0xffff0000u);
    [[unroll]]
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
  f32 other0 = subgroupShuffleXor(sum0, 1u);
  sum0 = sum0 + other0;
  f32 other1 = subgroupShuffleXor(sum0, 2u);
  sum0 = sum0 + other1;
  f32 other2 = subgroupShuffleXor(sum0, 4u);
  sum0 = sum0 + other2;
  f32 other3 = subgroupShuffleXor(sum0, 8u);
  sum0 = sum0 + other3;
  f32 other4 = subgroupShuffleXor(sum0, 16u);
  sum0 = sum0 + other4;
  f32 sum1_lane[8];
  [[unroll]]
  for (i32 v = 0; v < 8; ++v) {
    sum1_lane[v] = 0.0f;
  }
  f32 kept1[24];
  f32 h9 = tcc_div_f32(sum0, 768.0f);
  [[unroll]]
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    [[unroll]]
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
  f32 other5 = subgroupShuffleXor(sum1, 1u);
  sum1 = sum1 + other5;
  f32 other6 = subgroupShuffleXor(sum1, 2u);
  sum1 = sum1 + other6;
  f32 other7 = subgroupShuffleXor(sum1, 4u);
  sum1 = sum1 + other7;
  f32 other8 = subgroupShuffleXor(sum1, 8u);
  sum1 = sum1 + other8;
  f32 other9 = subgroupShuffleXor(sum1, 16u);
  sum1 = sum1 + other9;
  f32 h11 = tcc_rsqrt_f32(tcc_div_f32(sum1, 768.0f) + 1e-05f);
  [[unroll]]
  for (i32 e = 0; e < 3; ++e) {
    i32 group = e * 32 + lane;
    f32 y12[8];
    f32 y13[8];
    [[unroll]]
    for (i32 v = 0; v < 8; ++v) {
      y12[v] = kept0[e * 8 + v];
      y13[v] = ((kept1[e * 8 + v] * h11) * early2[e * 8 + v]) + early3[e * 8 + v];
    }
    Words4(b4).v[group + row * 96] = uvec4(tcc_pack_bf16(y12[0], y12[1]), tcc_pack_bf16(y12[2], y12[3]), tcc_pack_bf16(y12[4], y12[5]), tcc_pack_bf16(y12[6], y12[7]));
    Words4(b5).v[group + row * 96] = uvec4(tcc_pack_bf16(y13[0], y13[1]), tcc_pack_bf16(y13[2], y13[3]), tcc_pack_bf16(y13[4], y13[5]), tcc_pack_bf16(y13[6], y13[7]));
  }
}

