// ==== convolution_add_relu_add [contraction] block_k=16 block_m=32 block_n=32 cluster=4 slices=2 thread_m=8 thread_n=2
// convolution.14 = convolution(x, mul.12) : f32[2, 32, 14, 14]
// n = add(convolution.14, reshape.15) : f32[2, 32, 14, 14]
// r = relu(n) : f32[2, 32, 14, 14]
// y = add(r, residual) : f32[2, 32, 14, 14]
#define ACC f32
#define BLOCK_M 32
#define BLOCK_N 32
#define BLOCK_K 16
#define THREAD_M 8
#define THREAD_N 2
#define SLICES 2
#define PEERS 4
#define SIZE_K 144
#define TILES_M 1
#define TILES_N 13
#define A_VECTOR 4
#define A_ALONG_K 0
#define B_VECTOR 1
#define B_ALONG_K 1
#define SEGMENT 2
#define SHARED_BYTES 9232
#define TOTALS_SHARED 0
#define FOLD_TILES 0
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 52
#define INDEX i32
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(4) convolution_add_relu_add_kernel(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, const f32* __restrict__ b3, f32* __restrict__ b4)
#define TCC_RELEASE tcc_cuda_release();
#define TCC_WAIT 
#define TCC_BEGIN TCC_RELEASE TCC_WAIT
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, b4, 

static __device__ __forceinline__ void load_a(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, const f32* __restrict__ b3, f32* __restrict__ b4, i32 batch, i32 at, i32 k, f32 (&out_values)[4]) {
  i32 m = at;
  i32 kk = k;
  f32 x[4];
  uint4 w = ((const uint4*)b1)[kk * 8 + m];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    out_values[v] = x[v];
  }
}

static __device__ __forceinline__ void load_b(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, const f32* __restrict__ b3, f32* __restrict__ b4, i32 batch, i32 at, i32 k, f32 (&out_values)[1]) {
  i32 n = min(391, at);
  i32 kk = k;
  out_values[0] = (((0 <= (((n / 14) % 14) + (kk / 48) - 1)) && ((((n / 14) % 14) + (kk / 48) - 1) < 14)) && ((0 <= (((kk >> 4) % 3) + (n % 14) - 1)) && ((((kk >> 4) % 3) + (n % 14) - 1) < 14))) ? b0[(kk & 15) * 196 + (n / 196) * 3136 + min(13, max(((kk >> 4) % 3) + (n % 14) - 1, 0)) + min(13, max(((n / 14) % 14) + (kk / 48) - 1, 0)) * 14] : 0.0f;
}

static __device__ __forceinline__ void epilogue(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, const f32* __restrict__ b3, f32* __restrict__ b4, i32 batch, i32 row, i32 part, const f32 (&acc)[2]) {
  i32 m = row;
  i32 n = part;
  i32 read_n = min(195, part);
  f32 y[2];
  f32 s = b2[m];
  f32 x[2];
  uint2 w = ((const uint2*)b3)[(read_n % 98) + (read_n / 98) * 3136 + m * 98];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  #pragma unroll
  for (i32 v = 0; v < 2; ++v) {
    y[v] = tcc_max_f32(acc[v] + s, 0.0f) + x[v];
  }
  tcc_cuda_store2((uint2*)b4 + ((n % 98) + (n / 98) * 3136 + m * 98), make_uint2(tcc_f32_bits(y[0]), tcc_f32_bits(y[1])), part < 196);
}

// ... backends/device/cuda/contraction.cu follows

