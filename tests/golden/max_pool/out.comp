// ==== max_pool2d [pointwise] threads=256 vector=1 vectors=1
// y = max_pool2d(x) : f32[2, 8, 14, 14]
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
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  if ((block * 256 + thread) < 3136) {
    i32 i = block * 256 + thread;
    f32 acc = -tcc_inf_f32();
    for (i32 r = 0; r < 3; ++r) {
      for (i32 r1 = 0; r1 < 3; ++r1) {
        f32 t = ((0 <= (((i / 14) % 14) * 2 + r - 1)) && (0 <= ((i % 14) * 2 + r1 - 1))) ? b0.v[(i / 196) * 784 + max(((i / 14) % 14) * 2 + r - 1, 0) * 28 + max((i % 14) * 2 + r1 - 1, 0)] : (-tcc_inf_f32());
        acc = tcc_max_f32(acc, t);
      }
    }
    b1.v[i] = acc;
  }
}

