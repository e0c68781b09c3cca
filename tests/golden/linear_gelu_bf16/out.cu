// ==== matmul_add_gelu [gemm_sm90] band=1 block_m=64 block_n=8 cluster_m=1 cluster_n=1 groups=1 pingpong=0 split_k=1 swapped=0
// transpose.2 = transpose(w) : bf16[256, 512]
// matmul.3 = matmul(x, transpose.2) : bf16[128, 512]
// h = add(matmul.3, b) : bf16[128, 512]
// y = gelu(h) : bf16[128, 512]
// ... backends/device/common/gemm_sm90_shape.h follows
constexpr tcc::kernels::GemmSm90 tcc_parameters() {
  using namespace tcc::kernels;
  GemmSm90 p;
  p.product.m = 128;
  p.product.n = 512;
  p.product.k = 256;
  p.product.batches = 1;
  p.product.a.load = Load::tiles;
  p.product.a.element = Element::bf16;
  p.product.a.major_k = true;
  p.product.a.vector = 8;
  p.product.a.vector_along_k = true;
  p.product.a.buffer = 1;
  p.product.a.rank = 2;
  p.product.b.load = Load::tiles;
  p.product.b.element = Element::bf16;
  p.product.b.major_k = true;
  p.product.b.vector = 8;
  p.product.b.vector_along_k = true;
  p.product.b.buffer = 0;
  p.product.b.rank = 2;
  p.product.sum = Sum::f32;
  p.product.swapped = false;
  p.product.segment = 8;
  p.image.spatial = 0;
  p.image.x.outputs = 1;
  p.image.x.step = 1;
  p.image.x.padding = 0;
  p.image.x.taps = 1;
  p.image.x.dilation = 1;
  p.image.x.along = 1;
  p.image.y.outputs = 1;
  p.image.y.step = 1;
  p.image.y.padding = 0;
  p.image.y.taps = 1;
  p.image.y.dilation = 1;
  p.image.y.along = 1;
  p.image.z.outputs = 1;
  p.image.z.step = 1;
  p.image.z.padding = 0;
  p.image.z.taps = 1;
  p.image.z.dilation = 1;
  p.image.z.along = 1;
  p.image.channels = 0;
  p.image.piece = 128;
  p.block_m = 64;
  p.block_n = 8;
  p.groups = 1;
  p.pingpong = false;
  p.cluster_m = 1;
  p.cluster_n = 1;
  p.split_k = 1;
  p.band = 1;
  p.stages = 12;
  p.clusters = 128;
  p.promoted = false;
  p.residual.element = Element::bf16;
  p.residual.rank = 0;
  p.residual_2.element = Element::bf16;
  p.residual_2.rank = 0;
  p.strips = 0;
  p.fixed_a = false;
  p.fixed_b = false;
  p.fold = 0;
  return p;
}
constexpr tcc::kernels::GemmSm90 params = tcc_parameters();
#define WGMMA_N 8
#define WORKGROUP 256
#define GRID 128
#define INDEX i32
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(256, 1) matmul_add_gelu_kernel(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b)
#define TCC_RELEASE tcc_cuda_release();
#define TCC_WAIT tcc_cuda_wait();
#define TCC_BEGIN TCC_RELEASE TCC_WAIT
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, 
#define TCC_MAPS &map_a, &map_b,

static __device__ __forceinline__ void epilogue(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  i32 m = row;
  i32 n = part;
  f32 y[8];
  f32 x[8];
  uint4 w = ((const uint4*)b2)[n];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  x[4] = tcc_bits_f32(w.z << 16);
  x[5] = tcc_bits_f32(w.z & 0xffff0000u);
  x[6] = tcc_bits_f32(w.w << 16);
  x[7] = tcc_bits_f32(w.w & 0xffff0000u);
  #pragma unroll
  for (i32 v = 0; v < 8; ++v) {
    f32 t = acc[v] + x[v];
    y[v] = t * tcc_normal_cdf_f32(t);
  }
  ((uint4*)b3)[m * 64 + n] = make_uint4(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3]), tcc_pack_bf16(y[4], y[5]), tcc_pack_bf16(y[6], y[7]));
}

// ... backends/device/cuda/gemm_sm90.cu follows

