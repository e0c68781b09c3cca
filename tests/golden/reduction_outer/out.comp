// ==== sum [reduction] keep=0 row_threads=8 rows=32 vector=1
// y = sum(x) : f32[1024]
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
shared f32 exchange[256];
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 lane = thread >> 5;
  i32 row = (thread & 31) + block * 32;
  f32 sum = 0.0f;
  for (i32 piece = 0; piece < 8; ++piece) {
    [[unroll]]
    for (i32 e = 0; e < 8; ++e) {
      i32 group = e * 8 + lane + piece * 64;
      sum = sum + b0.v[group * 1024 + row];
    }
  }
  exchange[thread] = sum;
  barrier();
  sum = exchange[-(thread >> 5) * 32 + thread];
  [[unroll]]
  for (i32 x = 0; x < 7; ++x) {
    sum = sum + exchange[-(thread >> 5) * 32 + thread + x * 32 + 32];
  }
  if (lane == 0) {
    b1.v[row] = sum;
  }
}

