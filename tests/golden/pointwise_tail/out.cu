// ==== silu [pointwise] threads=256 vector=1 vectors=1
// y = silu(x) : f16[7, 11]

extern "C" __global__ void __launch_bounds__(256) silu_kernel(const u16* __restrict__ b0, u16* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 thread = i32(threadIdx.x);
  if (thread < 77) {
    i32 i = thread;
    f32 t = tcc_f16_to_f32(u32(b0[i]));
    b1[i] = u16(tcc_f32_to_f16(t * tcc_sigmoid_f32(t)));
  }
}

