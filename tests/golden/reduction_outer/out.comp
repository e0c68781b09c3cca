// ==== sum [reduction] keep=0 row_threads=64 rows=4 vector=4
// y = sum(x) : f32[1024]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer In_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Out_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4 {
  uvec4 v[];
};
layout(push_constant) uniform Arguments {
  In_f32 b0;
  Out_f32 b1;
};
shared f32 exchange[256];
shared f32 exchange1[256];
shared f32 exchange2[256];
shared f32 exchange3[256];
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread >> 2;
  i32 rows = (thread & 3) + block * 4;
  f32 sum[4];
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    sum[v] = 0.0f;
  }
  {
    [[unroll]]
    for (i32 e = 0; e < 8; ++e) {
      i32 group = e * 64 + lane;
      f32 x[4];
      uvec4 w = Words4(b0).v[group * 256 + rows];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      [[unroll]]
      for (i32 v = 0; v < 4; ++v) {
        sum[v] = sum[v] + x[v];
      }
    }
  }
  f32 sum_row = sum[0];
  f32 sum_row1 = sum[1];
  f32 sum_row2 = sum[2];
  f32 sum_row3 = sum[3];
  f32 other = subgroupShuffleXor(sum_row, 4u);
  f32 other1 = subgroupShuffleXor(sum_row1, 4u);
  f32 other2 = subgroupShuffleXor(sum_row2, 4u);
  f32 other3 = subgroupShuffleXor(sum_row3, 4u);
  sum_row = sum_row + other;
  sum_row1 = sum_row1 + other1;
  sum_row2 = sum_row2 + other2;
  sum_row3 = sum_row3 + other3;
  f32 other4 = subgroupShuffleXor(sum_row, 8u);
  f32 other5 = subgroupShuffleXor(sum_row1, 8u);
  f32 other6 = subgroupShuffleXor(sum_row2, 8u);
  f32 other7 = subgroupShuffleXor(sum_row3, 8u);
  sum_row = sum_row + other4;
  sum_row1 = sum_row1 + other5;
  sum_row2 = sum_row2 + other6;
  sum_row3 = sum_row3 + other7;
  f32 other8 = subgroupShuffleXor(sum_row, 16u);
  f32 other9 = subgroupShuffleXor(sum_row1, 16u);
  f32 other10 = subgroupShuffleXor(sum_row2, 16u);
  f32 other11 = subgroupShuffleXor(sum_row3, 16u);
  sum_row = sum_row + other8;
  sum_row1 = sum_row1 + other9;
  sum_row2 = sum_row2 + other10;
  sum_row3 = sum_row3 + other11;
  exchange[thread] = sum_row;
  exchange1[thread] = sum_row1;
  exchange2[thread] = sum_row2;
  exchange3[thread] = sum_row3;
  barrier();
  sum_row = exchange[-(thread >> 5) * 32 + thread];
  sum_row1 = exchange1[-(thread >> 5) * 32 + thread];
  sum_row2 = exchange2[-(thread >> 5) * 32 + thread];
  sum_row3 = exchange3[-(thread >> 5) * 32 + thread];
  [[unroll]]
  for (i32 x1 = 0; x1 < 7; ++x1) {
    sum_row = sum_row + exchange[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row1 = sum_row1 + exchange1[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row2 = sum_row2 + exchange2[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
    sum_row3 = sum_row3 + exchange3[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
  }
  sum[0] = sum_row;
  sum[1] = sum_row1;
  sum[2] = sum_row2;
  sum[3] = sum_row3;
  if (lane == 0) {
    f32 y[4];
    [[unroll]]
    for (i32 v = 0; v < 4; ++v) {
      y[v] = sum[v];
    }
    Words4(b1).v[rows] = uvec4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
  }
}

