// ==== cumsum [scan] items=4 row_threads=128 rows=1
// y = cumsum(x) : f32[16, 300]
__shared__ f32 exchange[128];

extern "C" __global__ void __launch_bounds__(128) cumsum_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread;
  i32 line = block;
  f32 carry = 0.0f;
  {
    i32 run = lane;
    f32 scanned[4];
    if (run < 75) {
      i32 inside = run;
      f32 x[4];
      uint4 w = ((const uint4*)b0)[inside + line * 75];
      x[0] = tcc_bits_f32(w.x);
      x[1] = tcc_bits_f32(w.y);
      x[2] = tcc_bits_f32(w.z);
      x[3] = tcc_bits_f32(w.w);
      #pragma unroll
      for (i32 item = 0; item < 4; ++item) {
        scanned[item] = x[item];
      }
    } else {
      #pragma unroll
      for (i32 item = 0; item < 4; ++item) {
        scanned[item] = 0.0f;
      }
    }
    f32 prefix = 0.0f;
    f32 total = 0.0f;
    #pragma unroll
    for (i32 step = 0; step < 4; ++step) {
      f32 own = scanned[step];
      total = total + own;
      scanned[step] = total;
    }
    f32 other = __shfl_xor_sync(0xffffffffu, total, 1u);
    if (0 < (thread & 1)) {
      prefix = prefix + other;
    }
    total = total + other;
    f32 other1 = __shfl_xor_sync(0xffffffffu, total, 2u);
    if (0 < ((thread >> 1) & 1)) {
      prefix = prefix + other1;
    }
    total = total + other1;
    f32 other2 = __shfl_xor_sync(0xffffffffu, total, 4u);
    if (0 < ((thread >> 2) & 1)) {
      prefix = prefix + other2;
    }
    total = total + other2;
    f32 other3 = __shfl_xor_sync(0xffffffffu, total, 8u);
    if (0 < ((thread >> 3) & 1)) {
      prefix = prefix + other3;
    }
    total = total + other3;
    f32 other4 = __shfl_xor_sync(0xffffffffu, total, 16u);
    if (0 < ((thread >> 4) & 1)) {
      prefix = prefix + other4;
    }
    total = total + other4;
    exchange[thread] = total;
    __syncthreads();
    f32 before = 0.0f;
    total = 0.0f;
    #pragma unroll
    for (i32 x1 = 0; x1 < 4; ++x1) {
      f32 part = exchange[-(thread >> 5) * 32 + thread + x1 * 32];
      if (x1 < (thread >> 5)) {
        before = before + part;
      }
      total = total + part;
    }
    prefix = prefix + before;
    __syncthreads();
    prefix = carry + prefix;
    if (run < 75) {
      i32 inside1 = run;
      f32 y[4];
      #pragma unroll
      for (i32 item = 0; item < 4; ++item) {
        y[item] = prefix + scanned[item];
      }
      ((uint4*)b1)[inside1 + line * 75] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
    }
    carry = carry + total;
  }
}

