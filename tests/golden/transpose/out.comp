// ==== add [transpose] rows=8 tile=32 vector=1
// t = transpose(x) : f32[512, 256]
// y = add(t, const.1) : f32[512, 256]
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
shared f32 tile[1056];
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  [[unroll]]
  for (i32 s = 0; s < 4; ++s) {
    i32 first = (block >> 3) * 32 + (thread & 31);
    i32 d1 = (block & 7) * 32 + (thread >> 5) + s * 8;
    tile[(thread & 31) * 33 + (thread >> 5) + s * 8] = b0.v[d1 * 512 + first];
  }
  barrier();
  [[unroll]]
  for (i32 s = 0; s < 4; ++s) {
    i32 first1 = (block & 7) * 32 + (thread & 31);
    i32 d0 = (block >> 3) * 32 + (thread >> 5) + s * 8;
    b1.v[d0 * 256 + first1] = tile[(thread & 31) + (thread >> 5) * 33 + s * 264] + 1.0f;
  }
}

