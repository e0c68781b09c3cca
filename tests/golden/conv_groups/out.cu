// ==== convolution_add_relu [gemm_sm80] band=1 block_m=32 block_n=16 line_bytes=128 resident=3 split_k=1 stages=5 swapped=0 warps_m=2 warps_n=1
// image = permute(x) : bf16[2, 64, 14, 14]
// convolution.4 = convolution(image, w) : bf16[2, 64, 14, 14]
// c = add(convolution.4, reshape.5) : bf16[2, 64, 14, 14]
// r = relu(c) : bf16[2, 64, 14, 14]
// y = permute(r) : bf16[2, 14, 14, 64]
// ... backends/device/common/gemm_sm80_shape.h follows
constexpr tcc::kernels::GemmSm80 tcc_parameters() {
  using namespace tcc::kernels;
  GemmSm80 p;
  p.product.m = 392;
  p.product.n = 4;
  p.product.k = 36;
  p.product.batches = 16;
  p.product.a.load = Load::im2col;
  p.product.a.element = Element::bf16;
  p.product.a.major_k = true;
  p.product.a.vector = 4;
  p.product.a.vector_along_k = true;
  p.product.a.buffer = 0;
  p.product.a.rank = 3;
  p.product.b.load = Load::tiles;
  p.product.b.element = Element::bf16;
  p.product.b.major_k = false;
  p.product.b.vector = 4;
  p.product.b.vector_along_k = false;
  p.product.b.buffer = 1;
  p.product.b.rank = 3;
  p.product.sum = Sum::f32;
  p.product.swapped = false;
  p.product.segment = 4;
  p.block_m = 32;
  p.block_n = 16;
  p.line_bytes = 128;
  p.warps_m = 2;
  p.warps_n = 1;
  p.stages = 5;
  p.split_k = 1;
  p.band = 1;
  p.at_once = 0;
  p.sums = 0;
  return p;
}
constexpr tcc::kernels::GemmSm80 params = tcc_parameters();
#define WORKGROUP 64
#define GRID 208
#define INDEX i64
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(64, 3) convolution_add_relu_kernel(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3)
#define TCC_RELEASE tcc_cuda_release();
#define TCC_WAIT tcc_cuda_wait();
#define TCC_BEGIN TCC_RELEASE TCC_WAIT
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, 
#define TCC_MAPS

static __device__ __forceinline__ void epilogue(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i64 batch, i64 row, i64 part, const f32 (&acc)[4]) {
  i64 m = row;
  i64 read_m = min(i64(391), i64(row));
  f32 y[4];
  f32 x[4];
  uint2 w = ((const uint2*)b2)[batch];
  x[0] = tcc_bits_f32(w.x << 16);
  x[1] = tcc_bits_f32(w.x & 0xffff0000u);
  x[2] = tcc_bits_f32(w.y << 16);
  x[3] = tcc_bits_f32(w.y & 0xffff0000u);
  #pragma unroll
  for (i64 v = 0; v < 4; ++v) {
    y[i32(v)] = tcc_max_f32(acc[i32(v)] + x[i32(v)], 0.0f);
  }
  tcc_cuda_store2((uint2*)b3 + (batch + m * 16), make_uint2(tcc_pack_bf16(y[0], y[1]), tcc_pack_bf16(y[2], y[3])), (row < 392) && (part < 1));
}

static __device__ __forceinline__ i32 vector_a(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i64 batch, i64 at, i64 k) {
  return ((((-1 < (i64(i32(i64(i32(at) / 14)) % 14) + i64(i32(k) / 3) - 1)) && ((i64(i32(i64(i32(at) / 14)) % 14) + i64(i32(k) / 3) - 1) < 14)) && (-1 < (i64(i32(at) % 14) + i64(i32(k) % 3) - 1))) && ((i64(i32(at) % 14) + i64(i32(k) % 3) - 1) < 14)) ? i32(i64(i64(i32(k) % 3) * 16 + i64(i32(k) / 3) * 224 + at * 16 + batch - 240)) : (-1);
}

static __device__ __forceinline__ i64 vector_b(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i64 batch, i64 at, i64 k) {
  return i64(at * 4 + batch * 4 + k * 64);
}

// ... backends/device/cuda/gemm_sm80.cu follows

