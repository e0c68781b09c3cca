// ==== add_mul_where [pointwise] threads=256 vector=1 vectors=1
// a = add(x, row) : f32[8, 16, 32]
// b = mul(a, column) : f32[8, 16, 32]
// y = where(mask, b, const.2) : f32[8, 16, 32]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer In_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 1) restrict readonly buffer In_bool {
  u8 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Out_f32 {
  f32 v[];
};
layout(push_constant) uniform Arguments {
  In_f32 b0;
  In_f32 b1;
  In_f32 b2;
  In_bool b3;
  Out_f32 b4;
  Out_f32 b5;
};
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 i = block * 256 + thread;
  f32 c = (b0.v[i] + b1.v[i & 31]) * b2.v[(i >> 5) & 15];
  b4.v[i] = c;
  b5.v[i] = (u32(b3.v[(i & 31) + (i >> 9) * 32]) != 0u) ? c : 0.0f;
}

