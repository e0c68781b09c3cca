// ==== mul_add_assign_mul_sub [pointwise] threads=256 vector=4 vectors=1
// kept = mul(m, const.0) : f32[1024, 768]
// moved = add(kept, g) : f32[1024, 768]
// m2 = assign(m, moved) : f32[1024, 768]
// step = mul(m2, const.4) : f32[1024, 768]
// less = sub(w, step) : f32[1024, 768]
// w2 = assign(w, less) : f32[1024, 768]

extern "C" __global__ void __launch_bounds__(256) mul_add_assign_mul_sub_kernel(f32* b0, const f32* __restrict__ b1, f32* b2, f32* __restrict__ b3) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 i = block * 256 + thread;
  f32 y[4];
  f32 y1[4];
  f32 y2[4];
  f32 x[4];
  uint4 w = ((const uint4*)b0)[i];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  f32 x1[4];
  uint4 w1 = ((const uint4*)b1)[i];
  x1[0] = tcc_bits_f32(w1.x);
  x1[1] = tcc_bits_f32(w1.y);
  x1[2] = tcc_bits_f32(w1.z);
  x1[3] = tcc_bits_f32(w1.w);
  f32 x2[4];
  uint4 w2 = ((const uint4*)b2)[i];
  x2[0] = tcc_bits_f32(w2.x);
  x2[1] = tcc_bits_f32(w2.y);
  x2[2] = tcc_bits_f32(w2.z);
  x2[3] = tcc_bits_f32(w2.w);
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    f32 c = x[v] * 0.9f;
    f32 c1 = (x[v] * 0.9f) + x1[v];
    f32 n = c;
    f32 n1 = c1;
    f32 n2 = x2[v] - (c1 * 0.01f);
    y[v] = n;
    y1[v] = n1;
    y2[v] = n2;
  }
  ((uint4*)b3)[i] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
  ((uint4*)b0)[i] = make_uint4(tcc_f32_bits(y1[0]), tcc_f32_bits(y1[1]), tcc_f32_bits(y1[2]), tcc_f32_bits(y1[3]));
  ((uint4*)b2)[i] = make_uint4(tcc_f32_bits(y2[0]), tcc_f32_bits(y2[1]), tcc_f32_bits(y2[2]), tcc_f32_bits(y2[3]));
}

