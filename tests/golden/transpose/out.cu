// ==== add [transpose] rows=8 tile=32 vector=1
// t = transpose(x) : f32[512, 256]
// y = add(t, const.1) : f32[512, 256]
__shared__ f32 tile[1056];

extern "C" __global__ void __launch_bounds__(256) add_kernel(const f32* __restrict__ b0, f32* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  #pragma unroll
  for (i32 s = 0; s < 4; ++s) {
    i32 first = (block >> 3) * 32 + (thread & 31);
    i32 d1 = (block & 7) * 32 + (thread >> 5) + s * 8;
    tile[(thread & 31) * 33 + (thread >> 5) + s * 8] = b0[d1 * 512 + first];
  }
  __syncthreads();
  #pragma unroll
  for (i32 s = 0; s < 4; ++s) {
    i32 first1 = (block & 7) * 32 + (thread & 31);
    i32 d0 = (block >> 3) * 32 + (thread >> 5) + s * 8;
    b1[d0 * 256 + first1] = tile[(thread & 31) + (thread >> 5) * 33 + s * 264] + 1.0f;
  }
}

