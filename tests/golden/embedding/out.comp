// ==== embedding_mul [pointwise] threads=256 vector=1 vectors=1
// e = embedding(ids, table) : f16[4, 16, 64]
// y = mul(e, const.1) : f16[4, 16, 64]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#define TCC_USE_I64
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer In_i64 {
  i64 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) restrict readonly buffer In_f16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) restrict writeonly buffer Out_f16 {
  u16 v[];
};
layout(push_constant) uniform Arguments {
  In_i64 b0;
  In_f16 b1;
  Out_f16 b2;
};
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 i = block * 256 + thread;
  i64 t = b0.v[i >> 6];
  i32 at = i32(min(max(((t < i64(0l)) ? (t + i64(1000l)) : t), i64(0l)), i64(999l)));
  b2.v[i] = u16(tcc_f32_to_f16(tcc_f16_to_f32(u32(b1.v[(i & 63) + at * 64])) * 8.0f));
}

