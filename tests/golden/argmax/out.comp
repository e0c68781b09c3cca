// ==== argmax [reduction] keep=0 row_threads=64 rows=4 vector=4
// y = argmax(x) : i64[64]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#define TCC_USE_I64
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer In_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) restrict writeonly buffer Out_i64 {
  i64 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4 {
  uvec4 v[];
};
layout(push_constant) uniform Arguments {
  In_f32 b0;
  Out_i64 b1;
};
shared f32 exchange[256];
shared i64 exchange1[256];
shared f32 exchange2[256];
shared i64 exchange3[256];
layout(local_size_x = 256) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 lane = thread & 63;
  i32 row = (thread >> 6) + block * 4;
  f32 argmax_value = -tcc_inf_f32();
  i64 argmax = i64(1000l);
  {
    [[unroll]]
    for (i32 e = 0; e < 4; ++e) {
      if ((e * 64 + lane) < 250) {
        i32 group = e * 64 + lane;
        f32 x[4];
        uvec4 w = Words4(b0).v[group + row * 250];
        x[0] = tcc_bits_f32(w.x);
        x[1] = tcc_bits_f32(w.y);
        x[2] = tcc_bits_f32(w.z);
        x[3] = tcc_bits_f32(w.w);
        [[unroll]]
        for (i32 v = 0; v < 4; ++v) {
          bool t = tcc_isnan_f32(x[v]);
          bool t1 = tcc_isnan_f32(argmax_value);
          if (((x[v] > argmax_value) || (t && (!t1))) || (((x[v] == argmax_value) || (t && t1)) && (tcc_i32_to_i64(group * 4 + v) < argmax))) {
            argmax_value = x[v];
            argmax = tcc_i32_to_i64(group * 4 + v);
          }
        }
      }
    }
  }
  exchange[thread] = argmax_value;
  exchange1[thread] = argmax;
  barrier();
  argmax_value = exchange[-(thread & 15) + thread];
  argmax = exchange1[-(thread & 15) + thread];
  [[unroll]]
  for (i32 x1 = 0; x1 < 15; ++x1) {
    bool t2 = tcc_isnan_f32(exchange[-(thread & 15) + thread + x1 + 1]);
    bool t3 = tcc_isnan_f32(argmax_value);
    if (((exchange[-(thread & 15) + thread + x1 + 1] > argmax_value) || (t2 && (!t3))) || (((exchange[-(thread & 15) + thread + x1 + 1] == argmax_value) || (t2 && t3)) && (exchange1[-(thread & 15) + thread + x1 + 1] < argmax))) {
      argmax_value = exchange[-(thread & 15) + thread + x1 + 1];
      argmax = exchange1[-(thread & 15) + thread + x1 + 1];
    }
  }
  exchange2[thread] = argmax_value;
  exchange3[thread] = argmax;
  barrier();
  argmax_value = exchange2[-((thread >> 4) & 3) * 16 + thread];
  argmax = exchange3[-((thread >> 4) & 3) * 16 + thread];
  [[unroll]]
  for (i32 x2 = 0; x2 < 3; ++x2) {
    bool t4 = tcc_isnan_f32(exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16]);
    bool t5 = tcc_isnan_f32(argmax_value);
    if (((exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] > argmax_value) || (t4 && (!t5))) || (((exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] == argmax_value) || (t4 && t5)) && (exchange3[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] < argmax))) {
      argmax_value = exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
      argmax = exchange3[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
    }
  }
  if (lane == 0) {
    b1.v[row] = argmax;
  }
}

