// ==== matmul_add_gelu [contraction] block_k=64 block_m=32 block_n=32 cluster=2 slices=2 thread_m=4 thread_n=4
// transpose.2 = transpose(w) : f32[256, 512]
// matmul.3 = matmul(x, transpose.2) : f32[128, 512]
// h = add(matmul.3, b) : f32[128, 512]
// y = gelu(h) : f32[128, 512]
#define ACC f32
#define BLOCK_M 32
#define BLOCK_N 32
#define BLOCK_K 64
#define THREAD_M 4
#define THREAD_N 4
#define SLICES 2
#define PEERS 2
#define SIZE_K 256
#define TILES_M 4
#define TILES_N 16
#define A_VECTOR 4
#define A_ALONG_K 1
#define B_VECTOR 4
#define B_ALONG_K 1
#define SEGMENT 4
#define SHARED_BYTES 36880
#define TOTALS_SHARED 0
#define FOLD_TILES 0
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 128
#define INDEX i32
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(2) matmul_add_gelu_kernel(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b3)
#define TCC_RELEASE tcc_cuda_release();
#define TCC_WAIT 
#define TCC_BEGIN TCC_RELEASE TCC_WAIT
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, 

static __device__ __forceinline__ void load_a(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b3, i32 batch, i32 at, i32 k, f32 (&out_values)[4]) {
  i32 m = at;
  i32 kk = k;
  f32 x[4];
  uint4 w = ((const uint4*)b1)[kk + m * 64];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    out_values[v] = x[v];
  }
}

static __device__ __forceinline__ void load_b(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b3, i32 batch, i32 at, i32 k, f32 (&out_values)[4]) {
  i32 n = at;
  i32 kk = k;
  f32 x[4];
  uint4 w = ((const uint4*)b0)[kk + n * 64];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    out_values[v] = x[v];
  }
}

static __device__ __forceinline__ void epilogue(const f32* __restrict__ b0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b3, i32 batch, i32 row, i32 part, const f32 (&acc)[4]) {
  i32 m = row;
  i32 n = part;
  f32 y[4];
  f32 x[4];
  uint4 w = ((const uint4*)b2)[n];
  x[0] = tcc_bits_f32(w.x);
  x[1] = tcc_bits_f32(w.y);
  x[2] = tcc_bits_f32(w.z);
  x[3] = tcc_bits_f32(w.w);
  #pragma unroll
  for (i32 v = 0; v < 4; ++v) {
    f32 t = acc[v] + x[v];
    y[v] = t * tcc_normal_cdf_f32(t);
  }
  ((uint4*)b3)[m * 128 + n] = make_uint4(tcc_f32_bits(y[0]), tcc_f32_bits(y[1]), tcc_f32_bits(y[2]), tcc_f32_bits(y[3]));
}

// ... backends/device/cuda/contraction.cu follows

