// ==== add_relu_mul [pointwise] threads=256 vector=4 vectors=1
// s = add(x, y) : f32[4096, 4096]
// r = relu(s) : f32[4096, 4096]
// z = mul(r, const.2) : f32[4096, 4096]

extern "C" __global__ void __launch_bounds__(256) add_relu_mul_kernel(const f32* __restrict__ b0, const f32* __restrict__ b1, f32* __restrict__ b2) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 i = block * 256 + thread;
  f32 y[4];
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
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    y[v] = tcc_max_f32(x[v] + x1[v], 0.0f) * 0.5f;
  }
  ((uint4*)b2)[i] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
}

