// ==== matmul_add_gelu [contraction] block_k=64 block_m=32 block_n=32 slices=4 thread_m=8 thread_n=4
// transpose.2 = transpose(w) : bf16[256, 512]
// matmul.3 = matmul(x, transpose.2) : bf16[128, 512]
// h = add(matmul.3, b) : bf16[128, 512]
// y = gelu(h) : bf16[128, 512]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(buffer_reference, std430, buffer_reference_align = 2) restrict readonly buffer In_bf16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) restrict writeonly buffer Out_bf16 {
  u16 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Words2 {
  uvec2 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4 {
  uvec4 v[];
};
#define ACC f32
#define BLOCK_M 32
#define BLOCK_N 32
#define BLOCK_K 64
#define THREAD_M 8
#define THREAD_N 4
#define SLICES 4
#define SIZE_K 256
#define TILES_M 4
#define TILES_N 16
#define A_VECTOR 8
#define A_ALONG_K 1
#define B_VECTOR 8
#define B_ALONG_K 1
#define SEGMENT 4
#define SHARED_BYTES 36864
#define TOTALS_SHARED 0
#define FOLD_TILES 0
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 64
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x)
#define TCC_THREAD (gl_LocalInvocationIndex)
#define TCC_BUFFERS 
layout(push_constant) uniform Arguments {
  In_bf16 b0;
  In_bf16 b1;
  In_bf16 b2;
  Out_bf16 b3;
};
layout(local_size_x = 128) in;

void load_a(i32 batch, i32 at, i32 k, inout f32 out_values[8]) {
  i32 m = at;
  i32 kk = k;
  f32 x[8];
  uvec4 w = Words4(b1).v[kk + m * 32];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  x[4] = tcc_bits_f32(w.z << 16);
  x[5] = tcc_bits_f32(w.z & 0xffff0000u);
  x[6] = tcc_bits_f32(w.w << 16);
  x[7] = tcc_bits_f32(w.w & 0xffff0000u);
  [[unroll]]
  for (i32 v = 0; v < 8; ++v) {
    out_values[v] = x[v];
  }
}

void load_b(i32 batch, i32 at, i32 k, inout f32 out_values[8]) {
  i32 n = at;
  i32 kk = k;
  f32 x[8];
  uvec4 w = Words4(b0).v[kk + n * 32];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  x[4] = tcc_bits_f32(w.z << 16);
  x[5] = tcc_bits_f32(w.z & 0xffff0000u);
  x[6] = tcc_bits_f32(w.w << 16);
  x[7] = tcc_bits_f32(w.w & 0xffff0000u);
  [[unroll]]
  for (i32 v = 0; v < 8; ++v) {
    out_values[v] = x[v];
  }
}

void epilogue(i32 batch, i32 row, i32 part, in f32 acc[4]) {
  i32 m = row;
  i32 n = part;
  f32 y[4];
  f32 x[4];
  uvec2 w = Words2(b2).v[n];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    f32 t = acc[v] + x[v];
    y[v] = t * tcc_normal_cdf_f32(t);
  }
  Words2(b3).v[m * 128 + n] = uvec2(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3]));
}

// ... backends/device/glsl/contraction.comp follows

