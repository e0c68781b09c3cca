// ==== embedding_mul [pointwise] threads=256 vector=1 vectors=1
// e = embedding(ids, table) : f16[4, 16, 64]
// y = mul(e, const.1) : f16[4, 16, 64]

extern "C" __global__ void __launch_bounds__(256) embedding_mul_kernel(const i64* __restrict__ b0, const u16* __restrict__ b1, u16* __restrict__ b2) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 i = block * 256 + thread;
  i64 t = b0[i >> 6];
  i32 at = i32(min(max(((t < i64(0ll)) ? i64(u64(t) + u64(i64(1000ll))) : t), i64(0ll)), i64(999ll)));
  b2[i] = u16(tcc_f32_to_f16(tcc_f16_to_f32(u32(b1[(i & 63) + at * 64])) * 8.0f));
}

