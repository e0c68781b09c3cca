// ==== cumsum [scan] items=4 row_threads=128 rows=1
// y = cumsum(x) : f32[16, 300]
__shared__ f32 exchange2_f32[128];

extern "C" __global__ void __launch_bounds__(128) cumsum_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread;
  i32 line = block;
  f32 carry = 0.0f;
  {
    i32 first = lane * 4;
    f32 scanned[4];
    if (first < 300) {
      f32 x0[4];
      x0[0] = b0[first + line * 300];
      x0[1] = b0[first + line * 300 + 1];
      x0[2] = b0[first + line * 300 + 2];
      x0[3] = b0[first + line * 300 + 3];
      #pragma unroll
      for (i32 item = 0; item < 4; ++item) {
        scanned[item] = x0[item];
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
    f32 other0 = __shfl_xor_sync(0xffffffffu, total, 1u);
    if (0 < (thread & 1)) {
      prefix = prefix + other0;
    }
    total = total + other0;
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
    exchange2_f32[thread] = total;
    __syncthreads();
    f32 before5 = 0.0f;
    total = 0.0f;
    #pragma unroll
    for (i32 x6 = 0; x6 < 4; ++x6) {
      f32 part7 = exchange2_f32[-(thread >> 5) * 32 + thread + x6 * 32];
      if (x6 < (thread >> 5)) {
        before5 = before5 + part7;
      }
      total = total + part7;
    }
    prefix = prefix + before5;
    __syncthreads();
    prefix = carry + prefix;
    if (first < 300) {
      f32 y1[4];
      #pragma unroll
      for (i32 item = 0; item < 4; ++item) {
        y1[item] = prefix + scanned[item];
      }
      b1[first + line * 300] = y1[0];
      b1[first + line * 300 + 1] = y1[1];
      b1[first + line * 300 + 2] = y1[2];
      b1[first + line * 300 + 3] = y1[3];
    }
    carry = carry + total;
  }
}

