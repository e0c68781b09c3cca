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
shared f32 exchange[1024];
shared f32 exchange1[1024];
layout(local_size_x = 1024) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread;
  i32 row = block;
  f32 max1 = -tcc_inf_f32();
  f32 sum = 0.0f;
  for (i32 piece = 0; piece < 4; ++piece) {
    f32 x_at[32];
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 1024 + lane + piece * 4096;
      f32 x[8];
      uvec4 w = Words4(b0).v[group + row * 16384];
      x[0] = tcc_bits_f32(w.x << 16);
      x[1] = tcc_bits_f32(w.x & 0xffff0000u);
      x[2] = tcc_bits_f32(w.y << 16);
      x[3] = tcc_bits_f32(w.y & 0xffff0000u);
      x[4] = tcc_bits_f32(w.z << 16);
      x[5] = tcc_bits_f32(w.z & 0xffff0000u);
      x[6] = tcc_bits_f32(w.w << 16);
      x[7] = tcc_bits_f32(w.w & 0xffff0000u);
      [[unroll]]
      for (i32 v = 0; v < 8; ++v) {
        x_at[e * 8 + v] = x[v];
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
    sum = sum + part[0];
    sum = sum + part[1];
    sum = sum + part[2];
    sum = sum + part[3];
    sum = sum + part[4];
    sum = sum + part[5];
    sum = sum + part[6];
    sum = sum + part[7];
  }
  f32 own = max1;
  f32 other = subgroupShuffleXor(max1, 1u);
  max1 = tcc_max_f32(max1, other);
  f32 other1 = subgroupShuffleXor(max1, 2u);
  max1 = tcc_max_f32(max1, other1);
  f32 other2 = subgroupShuffleXor(max1, 4u);
  max1 = tcc_max_f32(max1, other2);
  f32 other3 = subgroupShuffleXor(max1, 8u);
  max1 = tcc_max_f32(max1, other3);
  f32 other4 = subgroupShuffleXor(max1, 16u);
  max1 = tcc_max_f32(max1, other4);
  exchange[thread] = max1;
  barrier();
  max1 = exchange[-((thread >> 5) & 15) * 32 + thread];
  [[unroll]]
  for (i32 x1 = 0; x1 < 15; ++x1) {
    max1 = tcc_max_f32(max1, exchange[-((thread >> 5) & 15) * 32 + thread + x1 * 32 + 32]);
  }
  exchange1[thread] = max1;
  barrier();
  max1 = exchange1[-(thread >> 9) * 512 + thread];
  {
    max1 = tcc_max_f32(max1, exchange1[-(thread >> 9) * 512 + thread + 512]);
  }
  f32 row_base = (max1 == (-tcc_inf_f32())) ? 0.0f : max1;
  sum = sum * tcc_exp_term_f32(own - row_base);
  f32 other5 = subgroupShuffleXor(sum, 1u);
  sum = sum + other5;
  f32 other6 = subgroupShuffleXor(sum, 2u);
  sum = sum + other6;
  f32 other7 = subgroupShuffleXor(sum, 4u);
  sum = sum + other7;
  f32 other8 = subgroupShuffleXor(sum, 8u);
  sum = sum + other8;
  f32 other9 = subgroupShuffleXor(sum, 16u);
  sum = sum + other9;
  exchange[thread] = sum;
  barrier();
  sum = exchange[-((thread >> 5) & 15) * 32 + thread];
  [[unroll]]
  for (i32 x2 = 0; x2 < 15; ++x2) {
    sum = sum + exchange[-((thread >> 5) & 15) * 32 + thread + x2 * 32 + 32];
  }
  exchange1[thread] = sum;
  barrier();
  sum = exchange1[-(thread >> 9) * 512 + thread];
  {
    sum = sum + exchange1[-(thread >> 9) * 512 + thread + 512];
  }
  sum = sum + (max1 - max1);
  f32 h = tcc_div_f32(1.0f, sum);
  for (i32 piece1 = 0; piece1 < 4; ++piece1) {
    [[unroll]]
    for (i32 e1 = 0; e1 < 4; ++e1) {
      i32 group = e1 * 1024 + lane + piece1 * 4096;
      f32 y[8];
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
        y[v] = tcc_exp_f32(x3[v] - max1) * h;
      }
      Words4(b1).v[group + row * 16384] = uvec4(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3]), tcc_pack_bf16(y[4], y[5]), tcc_pack_bf16(y[6], y[7]));
    }
  }
}

