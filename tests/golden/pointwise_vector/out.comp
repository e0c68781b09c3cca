// ==== add_relu_mul [pointwise] threads=256 vector=4 vectors=1
// s = add(x, y) : f32[4096, 4096]
// r = relu(s) : f32[4096, 4096]
// z = mul(r, const.2) : f32[4096, 4096]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
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
  In_f32 b1;
  Out_f32 b2;
};
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 i = block * 256 + thread;
  f32 y[4];
  f32 x[4];
  uvec4 w = Words4(b0).v[i];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  f32 x1[4];
  uvec4 w1 = Words4(b1).v[i];
  x1[0] = tcc_bits_f32(w1.x);
  x1[1] = tcc_bits_f32(w1.y);
  x1[2] = tcc_bits_f32(w1.z);
  x1[3] = tcc_bits_f32(w1.w);
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    y[v] = tcc_max_f32(x[v] + x1[v], 0.0f) * 0.5f;
  }
  Words4(b2).v[i] = uvec4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
}

