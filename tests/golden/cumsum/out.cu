// ==== cumsum [scan] threads=32
// y = cumsum(x) : f32[16, 300]

extern "C" __global__ void __launch_bounds__(32) cumsum_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  i32 thread = i32(threadIdx.x);
  if (thread < 16) {
    i32 line = thread;
    f32 total = 0.0f;
    for (i32 o = 0; o < 5; ++o) {
      f32 part = 0.0f;
      for (i32 i = 0; i < 64; ++i) {
        if ((i + o * 64) < 300) {
          part = part + b0[line * 300 + min(299, i + o * 64)];
          b1[line * 300 + min(299, i + o * 64)] = total + part;
        }
      }
      total = total + part;
    }
  }
}

