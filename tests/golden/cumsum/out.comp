// ==== cumsum [scan] threads=32
// y = cumsum(x) : f32[16, 300]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer In_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Out_f32 {
  f32 v[];
};
layout(push_constant) uniform Arguments {
  In_f32 b0;
  Out_f32 b1;
};
layout(local_size_x = 32) in;

void main() {
  i32 thread = i32(gl_LocalInvocationIndex);
  if (thread < 16) {
    i32 line = thread;
    f32 total = 0.0f;
    for (i32 o = 0; o < 5; ++o) {
      f32 part = 0.0f;
      for (i32 i = 0; i < 64; ++i) {
        if ((i + o * 64) < 300) {
          part = part + b0.v[line * 300 + min(299, i + o * 64)];
          b1.v[line * 300 + min(299, i + o * 64)] = total + part;
        }
      }
      total = total + part;
    }
  }
}

