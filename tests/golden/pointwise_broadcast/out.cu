// ==== add_mul_where [pointwise] threads=256 vector=1 vectors=1
// a = add(x, row) : f32[8, 16, 32]
// b = mul(a, column) : f32[8, 16, 32]
// y = where(mask, b, const.2) : f32[8, 16, 32]

extern "C" __global__ void __launch_bounds__(256) add_mul_where_kernel(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, const u8* __restrict__ b3, f32* __restrict__ b4, f32* __restrict__ b5) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 i = block * 256 + thread;
  f32 c = (b0[i] + b1[i & 31]) * b2[(i >> 5) & 15];
  b4[i] = c;
  b5[i] = (u32(b3[(i & 31) + (i >> 9) * 32]) != 0u) ? c : 0.0f;
}

