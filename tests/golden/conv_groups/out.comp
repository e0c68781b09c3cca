// ==== convolution_add_relu [depthwise] bands=1 channels=8 inputs=4 rows=1 staged=0 strip=4 strips=4 vector=1
// image = permute(x) : bf16[2, 64, 14, 14]
// convolution.4 = convolution(image, w) : bf16[2, 64, 14, 14]
// c = add(convolution.4, reshape.5) : bf16[2, 64, 14, 14]
// r = relu(c) : bf16[2, 64, 14, 14]
// y = permute(r) : bf16[2, 14, 14, 64]
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
layout(push_constant) uniform Arguments {
  In_bf16 b0;
  In_bf16 b1;
  In_bf16 b2;
  Out_bf16 b3;
};
layout(local_size_x = 32) in;

void main() {
  i32 block = i32(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  i32 thread = i32(gl_LocalInvocationIndex);
  i32 image = block / 112;
  i32 band = (block >> 3) % 14;
  i32 strip = thread >> 3;
  i32 group = (block & 7) * 8 + (thread & 7);
  f32 line[24];
  f32 x[4];
  uvec2 w = uvec2(0u, 0u);
  if ((-1 < (band - 1)) && (-1 < (strip * 4 - 1))) w = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + strip * 64 - 240];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  [[unroll]]
  for (i32 v = 0; v < 4; ++v) {
    line[v] = x[v];
  }
  [[unroll]]
  for (i32 j = 0; j < 2; ++j) {
    f32 x1[4];
    uvec2 w1 = uvec2(0u, 0u);
    if (-1 < (band - 1)) w1 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j * 16 + strip * 64 - 224];
    x1[0] = tcc_bits_f32(w1.x << 16);
    x1[1] = tcc_bits_f32(w1.x & 0xffff0000u);
    x1[2] = tcc_bits_f32(w1.y << 16);
    x1[3] = tcc_bits_f32(w1.y & 0xffff0000u);
    [[unroll]]
    for (i32 v1 = 0; v1 < 4; ++v1) {
      line[j * 4 + v1 + 4] = x1[v1];
    }
  }
  [[unroll]]
  for (i32 j1 = 0; j1 < 3; ++j1) {
    f32 x2[4];
    uvec2 w2 = uvec2(0u, 0u);
    if ((-1 < (band - 1)) && ((j1 + strip * 4 + 2) < 14)) w2 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j1 * 16 + strip * 64 - 192];
    x2[0] = tcc_bits_f32(w2.x << 16);
    x2[1] = tcc_bits_f32(w2.x & 0xffff0000u);
    x2[2] = tcc_bits_f32(w2.y << 16);
    x2[3] = tcc_bits_f32(w2.y & 0xffff0000u);
    [[unroll]]
    for (i32 v2 = 0; v2 < 4; ++v2) {
      line[j1 * 4 + v2 + 12] = x2[v2];
    }
  }
  f32 line1[24];
  f32 x3[4];
  uvec2 w3 = uvec2(0u, 0u);
  if (-1 < (strip * 4 - 1)) w3 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + strip * 64 - 16];
  x3[0] = tcc_bits_f32(w3.x << 16);
  x3[1] = tcc_bits_f32(w3.x & 0xffff0000u);
  x3[2] = tcc_bits_f32(w3.y << 16);
  x3[3] = tcc_bits_f32(w3.y & 0xffff0000u);
  [[unroll]]
  for (i32 v3 = 0; v3 < 4; ++v3) {
    line1[v3] = x3[v3];
  }
  [[unroll]]
  for (i32 j2 = 0; j2 < 2; ++j2) {
    f32 x4[4];
    uvec2 w4 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j2 * 16 + strip * 64];
    x4[0] = tcc_bits_f32(w4.x << 16);
    x4[1] = tcc_bits_f32(w4.x & 0xffff0000u);
    x4[2] = tcc_bits_f32(w4.y << 16);
    x4[3] = tcc_bits_f32(w4.y & 0xffff0000u);
    [[unroll]]
    for (i32 v4 = 0; v4 < 4; ++v4) {
      line1[j2 * 4 + v4 + 4] = x4[v4];
    }
  }
  [[unroll]]
  for (i32 j3 = 0; j3 < 3; ++j3) {
    f32 x5[4];
    uvec2 w5 = uvec2(0u, 0u);
    if ((j3 + strip * 4 + 2) < 14) w5 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j3 * 16 + strip * 64 + 32];
    x5[0] = tcc_bits_f32(w5.x << 16);
    x5[1] = tcc_bits_f32(w5.x & 0xffff0000u);
    x5[2] = tcc_bits_f32(w5.y << 16);
    x5[3] = tcc_bits_f32(w5.y & 0xffff0000u);
    [[unroll]]
    for (i32 v5 = 0; v5 < 4; ++v5) {
      line1[j3 * 4 + v5 + 12] = x5[v5];
    }
  }
  f32 sums[4];
  [[unroll]]
  for (i32 i = 0; i < 4; ++i) {
    sums[i] = 0.0f;
  }
  f32 taps[12];
  [[unroll]]
  for (i32 k = 0; k < 3; ++k) {
    [[unroll]]
    for (i32 c = 0; c < 4; ++c) {
      taps[c + k * 4] = tcc_bf16_to_f32(u32(b1.v[c * 64 + group + k * 256]));
    }
  }
  [[unroll]]
  for (i32 k1 = 0; k1 < 3; ++k1) {
    [[unroll]]
    for (i32 c1 = 0; c1 < 4; ++c1) {
      [[unroll]]
      for (i32 i1 = 0; i1 < 4; ++i1) {
        sums[i1] = tcc_fma_f32(line[c1 + i1 * 4 + k1 * 4], taps[c1 + k1 * 4], sums[i1]);
      }
    }
  }
  f32 line2[24];
  f32 x6[4];
  uvec2 w6 = uvec2(0u, 0u);
  if (((band + 1) < 14) && (-1 < (strip * 4 - 1))) w6 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + strip * 64 + 208];
  x6[0] = tcc_bits_f32(w6.x << 16);
  x6[1] = tcc_bits_f32(w6.x & 0xffff0000u);
  x6[2] = tcc_bits_f32(w6.y << 16);
  x6[3] = tcc_bits_f32(w6.y & 0xffff0000u);
  [[unroll]]
  for (i32 v6 = 0; v6 < 4; ++v6) {
    line2[v6] = x6[v6];
  }
  [[unroll]]
  for (i32 j4 = 0; j4 < 2; ++j4) {
    f32 x7[4];
    uvec2 w7 = uvec2(0u, 0u);
    if ((band + 1) < 14) w7 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j4 * 16 + strip * 64 + 224];
    x7[0] = tcc_bits_f32(w7.x << 16);
    x7[1] = tcc_bits_f32(w7.x & 0xffff0000u);
    x7[2] = tcc_bits_f32(w7.y << 16);
    x7[3] = tcc_bits_f32(w7.y & 0xffff0000u);
    [[unroll]]
    for (i32 v7 = 0; v7 < 4; ++v7) {
      line2[j4 * 4 + v7 + 4] = x7[v7];
    }
  }
  [[unroll]]
  for (i32 j5 = 0; j5 < 3; ++j5) {
    f32 x8[4];
    uvec2 w8 = uvec2(0u, 0u);
    if (((band + 1) < 14) && ((j5 + strip * 4 + 2) < 14)) w8 = Words2(b0).v[(group >> 2) + band * 224 + image * 3136 + j5 * 16 + strip * 64 + 256];
    x8[0] = tcc_bits_f32(w8.x << 16);
    x8[1] = tcc_bits_f32(w8.x & 0xffff0000u);
    x8[2] = tcc_bits_f32(w8.y << 16);
    x8[3] = tcc_bits_f32(w8.y & 0xffff0000u);
    [[unroll]]
    for (i32 v8 = 0; v8 < 4; ++v8) {
      line2[j5 * 4 + v8 + 12] = x8[v8];
    }
  }
  f32 taps1[12];
  [[unroll]]
  for (i32 k2 = 0; k2 < 3; ++k2) {
    [[unroll]]
    for (i32 c2 = 0; c2 < 4; ++c2) {
      taps1[c2 + k2 * 4] = tcc_bf16_to_f32(u32(b1.v[c2 * 64 + group + k2 * 256 + 768]));
    }
  }
  [[unroll]]
  for (i32 k3 = 0; k3 < 3; ++k3) {
    [[unroll]]
    for (i32 c3 = 0; c3 < 4; ++c3) {
      [[unroll]]
      for (i32 i2 = 0; i2 < 4; ++i2) {
        sums[i2] = tcc_fma_f32(line1[c3 + i2 * 4 + k3 * 4], taps1[c3 + k3 * 4], sums[i2]);
      }
    }
  }
  f32 taps2[12];
  [[unroll]]
  for (i32 k4 = 0; k4 < 3; ++k4) {
    [[unroll]]
    for (i32 c4 = 0; c4 < 4; ++c4) {
      taps2[c4 + k4 * 4] = tcc_bf16_to_f32(u32(b1.v[c4 * 64 + group + k4 * 256 + 1536]));
    }
  }
  [[unroll]]
  for (i32 k5 = 0; k5 < 3; ++k5) {
    [[unroll]]
    for (i32 c5 = 0; c5 < 4; ++c5) {
      [[unroll]]
      for (i32 i3 = 0; i3 < 4; ++i3) {
        sums[i3] = tcc_fma_f32(line2[c5 + i3 * 4 + k5 * 4], taps2[c5 + k5 * 4], sums[i3]);
      }
    }
  }
  [[unroll]]
  for (i32 i4 = 0; i4 < 4; ++i4) {
    if ((i4 + strip * 4) < 14) {
      i32 x9 = i4 + strip * 4;
      b3.v[band * 896 + group + image * 12544 + x9 * 64] = u16(tcc_f32_to_bf16(tcc_max_f32(sums[i4] + tcc_bf16_to_f32(u32(b2.v[group])), 0.0f)));
    }
  }
}

