// ==== silu [pointwise] threads=256 vector=1 vectors=1
// y = silu(x) : f16[7, 11]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(buffer_reference, std430, buffer_reference_align = 2) restrict readonly buffer In_f16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) restrict writeonly buffer Out_f16 {
  u16 v[];
};
layout(push_constant) uniform Arguments {
  In_f16 b0;
  Out_f16 b1;
};
layout(local_size_x = 256) in;

void main() {
  i32 thread = i32(gl_LocalInvocationIndex);
  if (thread < 77) {
    i32 i = thread;
    f32 t = tcc_f16_to_f32(u32(b0.v[i]));
    b1.v[i] = u16(tcc_f32_to_f16(t * tcc_sigmoid_f32(t)));
  }
}

