// ==== convolution_add_relu_add [contraction] block_k=64 block_m=16 block_n=16 slices=4 thread_m=4 thread_n=2
// convolution.14 = convolution(x, mul.12) : f32[2, 32, 14, 14]
// n = add(convolution.14, reshape.15) : f32[2, 32, 14, 14]
// r = relu(n) : f32[2, 32, 14, 14]
// y = add(r, residual) : f32[2, 32, 14, 14]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer In_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Out_f32 {
  f32 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Words2 {
  uvec2 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4 {
  uvec4 v[];
};
#define ACC f32
#define BLOCK_M 16
#define BLOCK_N 16
#define BLOCK_K 64
#define THREAD_M 4
#define THREAD_N 2
#define SLICES 4
#define SIZE_K 144
#define TILES_M 2
#define TILES_N 25
#define A_VECTOR 4
#define A_ALONG_K 0
#define B_VECTOR 1
#define B_ALONG_K 1
#define SEGMENT 2
#define SHARED_BYTES 20480
#define TOTALS_SHARED 0
#define FOLD_TILES 0
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 50
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x)
#define TCC_THREAD (gl_LocalInvocationIndex)
#define TCC_BUFFERS 
layout(push_constant) uniform Arguments {
  In_f32 b0;
  In_f32 b1;
  In_f32 b2;
  In_f32 b3;
  Out_f32 b4;
};
layout(local_size_x = 128) in;

void load_a(i32 batch, i32 at, i32 k, inout f32 out_values[4]) {
  if (k < 144) {
    i32 m = at;
    i32 kk = min(143, k);
    f32 x[4];
    uvec4 w = Words4(b1).v[kk * 8 + m];
    x[0] = tcc_bits_f32(w.x);
    x[1] = tcc_bits_f32(w.y);
    x[2] = tcc_bits_f32(w.z);
    x[3] = tcc_bits_f32(w.w);
    [[unroll]]
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = x[v];
    }
  } else {
    [[unroll]]
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = 0.0f;
    }
  }
}

void load_b(i32 batch, i32 at, i32 k, inout f32 out_values[1]) {
  if (k < 144) {
    i32 n = min(391, at);
    i32 kk = min(143, k);
    out_values[0] = (((0 <= (((n / 14) % 14) + (kk / 48) - 1)) && ((((n / 14) % 14) + (kk / 48) - 1) < 14)) && ((0 <= (((kk >> 4) % 3) + (n % 14) - 1)) && ((((kk >> 4) % 3) + (n % 14) - 1) < 14))) ? b0.v[(kk & 15) * 196 + (n / 196) * 3136 + min(13, max(((kk >> 4) % 3) + (n % 14) - 1, 0)) + min(13, max(((n / 14) % 14) + (kk / 48) - 1, 0)) * 14] : 0.0f;
  } else {
    {
      out_values[0] = 0.0f;
    }
  }
}

void epilogue(i32 batch, i32 row, i32 part, in f32 acc[2]) {
  i32 m = row;
  i32 n = part;
  i32 read_n = min(195, part);
  f32 y[2];
  f32 s = b2.v[m];
  f32 x[2];
  uvec2 w = Words2(b3).v[(read_n % 98) + (read_n / 98) * 3136 + m * 98];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  [[unroll]]
  for (i32 v = 0; v < 2; ++v) {
    y[v] = tcc_max_f32(acc[v] + s, 0.0f) + x[v];
  }
  if (part < 196) Words2(b4).v[(n % 98) + (n / 98) * 3136 + m * 98] = uvec2(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]));
}

// ... backends/device/glsl/contraction.comp follows

