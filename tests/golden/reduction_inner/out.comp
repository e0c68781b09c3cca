// ==== square_sum_mul [reduction] keep=0 row_threads=256 rows=1 vector=4
// s = square(x) : f32[32, 4096]
// sum.2 = sum(s) : f32[32]
// y = mul(sum.2, const.5) : f32[32]
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
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread;
  i32 row = block;
  f32 sum_lane[4];
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    sum_lane[v] = 0.0f;
  }
  {
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      i32 group = e * 256 + lane;
      f32 x[4];
      uvec4 w = Words4(b0).v[group + row * 1024];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      [[unroll]]
      for (i32 v = 0; v < 4; ++v) {
        sum_lane[v] = sum_lane[v] + (x[v] * x[v]);
      }
    }
  }
  f32 sum = sum_lane[0];
  sum = sum + sum_lane[1];
  sum = sum + sum_lane[2];
  sum = sum + sum_lane[3];
  f32 other = subgroupShuffleXor(sum, 1u);
  sum = sum + other;
  f32 other1 = subgroupShuffleXor(sum, 2u);
  sum = sum + other1;
  f32 other2 = subgroupShuffleXor(sum, 4u);
  sum = sum + other2;
  f32 other3 = subgroupShuffleXor(sum, 8u);
  sum = sum + other3;
  f32 other4 = subgroupShuffleXor(sum, 16u);
  sum = sum + other4;
  exchange[thread] = sum;
  barrier();
  sum = exchange[-(thread >> 5) * 32 + thread];
  [[unroll]]
  for (i32 x1 = 0; x1 < 7; ++x1) {
    sum = sum + exchange[-(thread >> 5) * 32 + thread + x1 * 32 + 32];
  }
  if (lane == 0) {
    b1.v[row] = sum * 0.00024414062f;
  }
}

