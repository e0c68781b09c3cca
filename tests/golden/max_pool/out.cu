// ==== max_pool2d [pointwise] threads=256 vector=1 vectors=1
// y = max_pool2d(x) : f32[2, 8, 14, 14]

extern "C" __global__ void __launch_bounds__(256) max_pool2d_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  if ((block * 256 + thread) < 3136) {
    i32 i = block * 256 + thread;
    f32 acc = -tcc_inf_f32();
    for (i32 r = 0; r < 3; ++r) {
      for (i32 r1 = 0; r1 < 3; ++r1) {
        f32 t = ((0 <= (((i / 14) % 14) * 2 + r - 1)) && (0 <= ((i % 14) * 2 + r1 - 1))) ? b0[(i / 196) * 784 + max(((i / 14) % 14) * 2 + r - 1, 0) * 28 + max((i % 14) * 2 + r1 - 1, 0)] : (-tcc_inf_f32());
        acc = tcc_max_f32(acc, t);
      }
    }
    b1[i] = acc;
  }
}

