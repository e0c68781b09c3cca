// ==== cumsum [scan] items=4 row_threads=128 rows=1
// y = cumsum(x) : f32[16, 300]
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
shared f32 exchange[128];
layout(local_size_x = 128) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  i32 lane = thread;
  i32 line = block;
  f32 carry = 0.0f;
  {
    i32 run = lane;
    f32 scanned[4];
    if (run < 75) {
      i32 inside = run;
      f32 x[4];
      uvec4 w = Words4(b0).v[inside + line * 75];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      [[unroll]]
      for (i32 item = 0; item < 4; ++item) {
        scanned[item] = x[item];
      }
    } else {
      [[unroll]]
      for (i32 item = 0; item < 4; ++item) {
        scanned[item] = 0.0f;
      }
    }
    f32 prefix = 0.0f;
    f32 total = 0.0f;
    [[unroll]]
    for (i32 step = 0; step < 4; ++step) {
      f32 own = scanned[step];
      total = total + own;
      scanned[step] = total;
    }
    f32 other = subgroupShuffleXor(total, 1u);
    if (0 < (thread & 1)) {
      prefix = prefix + other;
    }
    total = total + other;
    f32 other1 = subgroupShuffleXor(total, 2u);
    if (0 < ((thread >> 1) & 1)) {
      prefix = prefix + other1;
    }
    total = total + other1;
    f32 other2 = subgroupShuffleXor(total, 4u);
    if (0 < ((thread >> 2) & 1)) {
      prefix = prefix + other2;
    }
    total = total + other2;
    f32 other3 = subgroupShuffleXor(total, 8u);
    if (0 < ((thread >> 3) & 1)) {
      prefix = prefix + other3;
    }
    total = total + other3;
    f32 other4 = subgroupShuffleXor(total, 16u);
    if (0 < ((thread >> 4) & 1)) {
      prefix = prefix + other4;
    }
    total = total + other4;
    exchange[thread] = total;
    barrier();
    f32 before = 0.0f;
    total = 0.0f;
    [[unroll]]
    for (i32 x1 = 0; x1 < 4; ++x1) {
      f32 part = exchange[-(thread >> 5) * 32 + thread + x1 * 32];
      if (x1 < (thread >> 5)) {
        before = before + part;
      }
      total = total + part;
    }
    prefix = prefix + before;
    barrier();
    prefix = carry + prefix;
    if (run < 75) {
      i32 inside1 = run;
      f32 y[4];
      [[unroll]]
      for (i32 item = 0; item < 4; ++item) {
        y[item] = prefix + scanned[item];
      }
      Words4(b1).v[inside1 + line * 75] = uvec4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
    }
    carry = carry + total;
  }
}

