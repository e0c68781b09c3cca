// ==== mul_add_assign_mul_sub [pointwise] threads=256 vector=4 vectors=1
// kept = mul(m, const.0) : f32[1024, 768]
// moved = add(kept, g) : f32[1024, 768]
// m2 = assign(m, moved) : f32[1024, 768]
// step = mul(m2, const.4) : f32[1024, 768]
// less = sub(w, step) : f32[1024, 768]
// w2 = assign(w, less) : f32[1024, 768]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
layout(buffer_reference, std430, buffer_reference_align = 4) buffer InOut_f32 {
  f32 v[];
};
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
  InOut_f32 b0;
  In_f32 b1;
  InOut_f32 b2;
  Out_f32 b3;
};
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 i = block * 256 + thread;
  f32 y[4];
  f32 y1[4];
  f32 y2[4];
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
  f32 x2[4];
  uvec4 w2 = Words4(b2).v[i];
  x2[0] = tcc_bits_f32(w2.x);
  x2[1] = tcc_bits_f32(w2.y);
  x2[2] = tcc_bits_f32(w2.z);
  x2[3] = tcc_bits_f32(w2.w);
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    f32 c = x[v] * 0.9f;
    f32 c1 = (x[v] * 0.9f) + x1[v];
    f32 n = c;
    f32 n1 = c1;
    f32 n2 = x2[v] - (c1 * 0.01f);
    y[v] = n;
    y1[v] = n1;
    y2[v] = n2;
  }
  Words4(b3).v[i] = uvec4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
  Words4(b0).v[i] = uvec4(tcc_f32_bits(y1[0]), tcc_f32_bits(y1[1]), tcc_f32_bits(y1[2]), tcc_f32_bits(y1[3]));
  Words4(b2).v[i] = uvec4(tcc_f32_bits(y2[0]), tcc_f32_bits(y2[1]), tcc_f32_bits(y2[2]), tcc_f32_bits(y2[3]));
}

