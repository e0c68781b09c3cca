// ==== sum [reduction] keep=0 row_threads=8 rows=32 vector=1
// y = sum(x) : f32[1024]
__shared__ f32 exchange[256];

extern "C" __global__ void __launch_bounds__(256) sum_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread >> 5;
  i32 row = (thread & 31) + block * 32;
  f32 sum = 0.0f;
  for (i32 piece = 0; piece < 8; ++piece) {
    #pragma unroll
    for (i32 e = 0; e < 8; ++e) {
      i32 group = e * 8 + lane + piece * 64;
      sum = sum + b0[group * 1024 + row];
    }
  }
  exchange[thread] = sum;
  __syncthreads();
  sum = exchange[-(thread >> 5) * 32 + thread];
  #pragma unroll
  for (i32 x = 0; x < 7; ++x) {
    sum = sum + exchange[-(thread >> 5) * 32 + thread + x * 32 + 32];
  }
  if (lane == 0) {
    b1[row] = sum;
  }
}

