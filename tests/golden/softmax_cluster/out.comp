// ==== amax_sub_exp_sum_reciprocal [reduction] keep=0 row_threads=1024 rows=1 vector=8
// cast.1 = cast(x) : f32[64, 131072]
// amax.2 = amax(cast.1) : f32[64, 1]
// sub.3 = sub(cast.1, amax.2) : f32[64, 131072]
// exp.4 = exp(sub.3) : f32[64, 131072]
// sum.5 = sum(exp.4) : f32[64, 1]
// reciprocal.6 = reciprocal(sum.5) : f32[64, 1]
// mul.7 = mul(exp.4, reciprocal.6) : f32[64, 131072]
// y = cast(mul.7) : bf16[64, 131072]
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
  Out_bf16 b1;
};
shared f32 exchange0_f32[1024];
shared f32 exchange1_f32[1024];
layout(local_size_x = 1024) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread;
  i32 row = block;
  f32 max0 = -tcc_inf_f32();
  f32 sum1 = 0.0f;
  for (i32 piece = 0; piece < 4; ++piece) {
    f32 x_at[32];
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 1024 + lane + piece * 4096;
      f32 x0[8];
      uvec4 w0 = Words4(b0).v[group + row * 16384];
      x0[0] = tcc_bits_f32(w0.x << 16);
      x0[1] = tcc_bits_f32(w0.x & 0xffff0000u);
      x0[2] = tcc_bits_f32(w0.y << 16);
      x0[3] = tcc_bits_f32(w0.y & 0xffff0000u);
      x0[4] = tcc_bits_f32(w0.z << 16);
      x0[5] = tcc_bits_f32(w0.z & 0xffff0000u);
      x0[6] = tcc_bits_f32(w0.w << 16);
      x0[7] = tcc_bits_f32(w0.w & 0xffff0000u);
      [[unroll]]
      for (i32 v = 0; v < 8; ++v) {
        x_at[e * 8 + v] = x0[v];
      }
    }
    f32 part[8];
    [[unroll]]
    for (i32 v = 0; v < 8; ++v) {
      part[v] = x_at[v];
    }
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      [[unroll]]
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
    [[unroll]]
    for (i32 v = 0; v < 8; ++v) {
      part[v] = 0.0f;
    }
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      [[unroll]]
      for (i32 v = 0; v < 8; ++v) {
        part[v] = part[v] + tcc_exp_term_f32(x_at[e * 8 + v] - base);
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
  }
  f32 own = max0;
  f32 other0 = subgroupShuffleXor(max0, 1u);
  max0 = tcc_max_f32(max0, other0);
  f32 other1 = subgroupShuffleXor(max0, 2u);
  max0 = tcc_max_f32(max0, other1);
  f32 other2 = subgroupShuffleXor(max0, 4u);
  max0 = tcc_max_f32(max0, other2);
  f32 other3 = subgroupShuffleXor(max0, 8u);
  max0 = tcc_max_f32(max0, other3);
  f32 other4 = subgroupShuffleXor(max0, 16u);
  max0 = tcc_max_f32(max0, other4);
  exchange0_f32[thread] = max0;
  barrier();
  max0 = exchange0_f32[-((thread >> 5) & 15) * 32 + thread];
  [[unroll]]
  for (i32 x5 = 0; x5 < 15; ++x5) {
    max0 = tcc_max_f32(max0, exchange0_f32[-((thread >> 5) & 15) * 32 + thread + x5 * 32 + 32]);
  }
  exchange1_f32[thread] = max0;
  barrier();
  max0 = exchange1_f32[-(thread >> 9) * 512 + thread];
  {
    max0 = tcc_max_f32(max0, exchange1_f32[-(thread >> 9) * 512 + thread + 512]);
  }
  f32 row_base = (max0 == (-tcc_inf_f32())) ? 0.0f : max0;
  sum1 = sum1 * tcc_exp_term_f32(own - row_base);
  f32 other7 = subgroupShuffleXor(sum1, 1u);
  sum1 = sum1 + other7;
  f32 other8 = subgroupShuffleXor(sum1, 2u);
  sum1 = sum1 + other8;
  f32 other9 = subgroupShuffleXor(sum1, 4u);
  sum1 = sum1 + other9;
  f32 other10 = subgroupShuffleXor(sum1, 8u);
  sum1 = sum1 + other10;
  f32 other11 = subgroupShuffleXor(sum1, 16u);
  sum1 = sum1 + other11;
  exchange0_f32[thread] = sum1;
  barrier();
  sum1 = exchange0_f32[-((thread >> 5) & 15) * 32 + thread];
  [[unroll]]
  for (i32 x12 = 0; x12 < 15; ++x12) {
    sum1 = sum1 + exchange0_f32[-((thread >> 5) & 15) * 32 + thread + x12 * 32 + 32];
  }
  exchange1_f32[thread] = sum1;
  barrier();
  sum1 = exchange1_f32[-(thread >> 9) * 512 + thread];
  {
    sum1 = sum1 + exchange1_f32[-(thread >> 9) * 512 + thread + 512];
  }
  sum1 = sum1 + (max0 - max0);
  f32 h1 = tcc_div_f32(1.0f, sum1);
  for (i32 piece = 0; piece < 4; ++piece) {
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 1024 + lane + piece * 4096;
      f32 y2[8];
      f32 x3[8];
      uvec4 w1 = Words4(b0).v[group + row * 16384];
      x3[0] = tcc_bits_f32(w1.x << 16);
      x3[1] = tcc_bits_f32(w1.x & 0xffff0000u);
      x3[2] = tcc_bits_f32(w1.y << 16);
      x3[3] = tcc_bits_f32(w1.y & 0xffff0000u);
      x3[4] = tcc_bits_f32(w1.z << 16);
      x3[5] = tcc_bits_f32(w1.z & 0xffff0000u);
      x3[6] = tcc_bits_f32(w1.w << 16);
      x3[7] = tcc_bits_f32(w1.w & 0xffff0000u);
      [[unroll]]
      for (i32 v = 0; v < 8; ++v) {
        y2[v] = tcc_exp_f32(x3[v] - max0) * h1;
      }
      Words4(b1).v[group + row * 16384] = uvec4(tcc_pack_bf16(y2[0], y2[1]), tcc_pack_bf16(y2[2], y2[3]), tcc_pack_bf16(y2[4], y2[5]), tcc_pack_bf16(y2[6], y2[7]));
    }
  }
}

