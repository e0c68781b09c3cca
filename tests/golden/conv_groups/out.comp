// ==== convolution_add_relu [gemv] columns=8 k_unit=4 lanes_n=2 rows=4 unroll=1 warps_k=1 warps_n=2
// image = permute(x) : bf16[2, 64, 14, 14]
// convolution.4 = convolution(image, w) : bf16[2, 64, 14, 14]
// c = add(convolution.4, reshape.5) : bf16[2, 64, 14, 14]
// r = relu(c) : bf16[2, 64, 14, 14]
// y = permute(r) : bf16[2, 14, 14, 64]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
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
#define Element_bf16 0
#define Element_e4m3 6
#define Element_e5m2 7
#define Element_f16 1
#define Element_f32 3
#define Element_i8 4
#define Element_tf32 2
#define Element_u8 5
#define Load_computed 1
#define Load_im2col 3
#define Load_rows 2
#define Load_tiles 0
#define Sum_f32 0
#define Sum_i32 1
#define Sum_u32 2
#define params_product_m 4
#define params_product_n 392
#define params_product_k 36
#define params_product_batches 16
#define params_product_a_load Load_computed
#define params_product_a_element Element_f32
#define params_product_a_major_k 0
#define params_product_a_vector 4
#define params_product_a_vector_along_k 0
#define params_product_a_buffer 0
#define params_product_a_rank 2
#define params_product_b_load Load_computed
#define params_product_b_element Element_bf16
#define params_product_b_major_k 1
#define params_product_b_vector 4
#define params_product_b_vector_along_k 1
#define params_product_b_buffer 0
#define params_product_b_rank 2
#define params_product_sum Sum_f32
#define params_product_swapped 1
#define params_product_segment 1
#define params_rows_results 0
#define params_rows_stages 0
#define params_rows_parts 0
#define params_staged 0
#define params_fixed_b 0
#define params_block_m 4
#define params_columns 8
#define params_lanes_n 2
#define params_warps_n 2
#define params_warps_k 1
#define params_k_unit 4
#define params_unroll 1
#define params_cluster 1
#define params_subgroup 32
#define WORKGROUP 64
#define GRID 208
#define INDEX i32
#define TCC_ENTRY void main()
#define TCC_BLOCK (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x)
#define TCC_THREAD (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID)
#define TCC_BUFFERS 
layout(push_constant) uniform Arguments {
  In_bf16 b0;
  In_bf16 b1;
  In_bf16 b2;
  Out_bf16 b3;
};
layout(local_size_x = 64) in;

void load_a(i32 batch, i32 at, i32 k, inout f32 out_values[4]) {
  if (k < 36) {
    i32 kk = min(35, k);
    f32 x[4];
    uvec2 w = Words2(b1).v[batch + kk * 16];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
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

void load_b(i32 batch, i32 at, i32 k, inout f32 out_values[4]) {
  if (k < 9) {
    i32 m = min(391, at);
    i32 kk = min(8, k);
    f32 x[4];
    uvec2 w = uvec2(0u, 0u);
    if (((0 <= (((m / 14) % 14) + (kk / 3) - 1)) && ((((m / 14) % 14) + (kk / 3) - 1) < 14)) && ((0 <= ((kk % 3) + (m % 14) - 1)) && (((kk % 3) + (m % 14) - 1) < 14))) w = Words2(b0).v[(m / 196) * 3136 + batch + min(13, max(((m / 14) % 14) + (kk / 3) - 1, 0)) * 224 + min(13, max((kk % 3) + (m % 14) - 1, 0)) * 16];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
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

void epilogue(i32 batch, i32 row, i32 part, in f32 acc[1]) {
  if (row < 392) {
    i32 m = row;
    i32 n = part;
    b3.v[batch * 4 + m * 64 + n] = u16(tcc_f32_to_bf16(tcc_max_f32(acc[0] + tcc_bf16_to_f32(u32(b2.v[batch * 4 + n])), 0.0f)));
  }
}

// ... backends/device/glsl/gemv.comp follows

