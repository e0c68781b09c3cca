// ==== matmul_add_gelu [gemm_sm90] band=1 block_m=64 block_n=8 cluster_m=1 cluster_n=1 groups=1 pingpong=0 split_k=1 swapped=0
// transpose.2 = transpose(w) : bf16[256, 512]
// matmul.3 = matmul(x, transpose.2) : bf16[128, 512]
// h = add(matmul.3, b) : bf16[128, 512]
// y = gelu(h) : bf16[128, 512]
#define OPERANDS 0
#define ACC f32
#define SIZE_M 128
#define SIZE_N 512
#define SIZE_K 256
#define BATCHES 1
#define SWAPPED 0
#define SEGMENT 8
#define BLOCK_M 64
#define BLOCK_N 8
#define GROUPS 1
#define PINGPONG 0
#define CLUSTER_M 1
#define CLUSTER_N 1
#define SPLIT_K 1
#define BAND 1
#define STAGES 12
#define PROMOTE 0
#define A_LOAD 0
#define A_MAJOR_K 1
#define A_BUFFER b1
#define A_RANK 2
#define B_LOAD 0
#define B_MAJOR_K 1
#define B_BUFFER b0
#define B_RANK 2
#define WORKGROUP 256
#define GRID 128
#define INDEX i32
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(256, 1) matmul_add_gelu_kernel(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b)
#define TCC_BEGIN tcc_cuda_release(); tcc_cuda_wait();
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, 

static __device__ __forceinline__ void epilogue(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  i32 m = row;
  i32 n = part;
  f32 y0[8];
  f32 x1[8];
  uint4 w0 = ((const uint4*)b2)[n];
  x1[0] = tcc_bits_f32(w0.x << 16);
  x1[1] = tcc_bits_f32(w0.x & 0xffff0000u);
  x1[2] = tcc_bits_f32(w0.y << 16);
  x1[3] = tcc_bits_f32(w0.y & 0xffff0000u);
  x1[4] = tcc_bits_f32(w0.z << 16);
  x1[5] = tcc_bits_f32(w0.z & 0xffff0000u);
  x1[6] = tcc_bits_f32(w0.w << 16);
  x1[7] = tcc_bits_f32(w0.w & 0xffff0000u);
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    f32 t1 = acc[v] + x1[v];
    y0[v] = t1 * tcc_normal_cdf_f32(t1);
  }
  ((uint4*)b3)[m * 64 + n] = make_uint4(tcc_pack_bf16(y0[0], y0[1]), tcc_pack_bf16(y0[2], y0[3]), tcc_pack_bf16(y0[4], y0[5]), tcc_pack_bf16(y0[6], y0[7]));
}

// ... backends/device/cuda/gemm_sm90.cu follows

