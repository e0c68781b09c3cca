// ==== convolution_add_relu [gemv] columns=8 k_unit=4 lanes_n=1 rows=4 unroll=1 warps_k=1 warps_n=2
// image = permute(x) : bf16[2, 64, 14, 14]
// convolution.4 = convolution(image, w) : bf16[2, 64, 14, 14]
// c = add(convolution.4, reshape.5) : bf16[2, 64, 14, 14]
// r = relu(c) : bf16[2, 64, 14, 14]
// y = permute(r) : bf16[2, 14, 14, 64]
// ... backends/device/common/gemv_shape.h follows
constexpr tcc::kernels::Gemv tcc_parameters() {
  using namespace tcc::kernels;
  Gemv p;
  p.product.m = 4;
  p.product.n = 392;
  p.product.k = 36;
  p.product.batches = 16;
  p.product.a.load = Load::computed;
  p.product.a.element = Element::f32;
  p.product.a.major_k = false;
  p.product.a.vector = 4;
  p.product.a.vector_along_k = false;
  p.product.a.buffer = 0;
  p.product.a.rank = 2;
  p.product.b.load = Load::computed;
  p.product.b.element = Element::bf16;
  p.product.b.major_k = true;
  p.product.b.vector = 4;
  p.product.b.vector_along_k = true;
  p.product.b.buffer = 0;
  p.product.b.rank = 2;
  p.product.sum = Sum::f32;
  p.product.swapped = true;
  p.product.segment = 1;
  p.rows.results = 0;
  p.rows.stages = 0;
  p.rows.parts = 0;
  p.staged = false;
  p.fixed_b = false;
  p.block_m = 4;
  p.columns = 8;
  p.lanes_n = 1;
  p.warps_n = 2;
  p.warps_k = 1;
  p.k_unit = 4;
  p.unroll = 1;
  p.cluster = 1;
  p.subgroup = 32;
  return p;
}
constexpr tcc::kernels::Gemv params = tcc_parameters();
#define WORKGROUP 64
#define GRID 400
#define INDEX i32
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(64) convolution_add_relu_kernel(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3)
#define TCC_RELEASE tcc_cuda_release();
#define TCC_WAIT 
#define TCC_BEGIN TCC_RELEASE TCC_WAIT
#define TCC_BLOCK (blockIdx.x + blockIdx.y * gridDim.x)
#define TCC_THREAD (threadIdx.x)
#define TCC_BUFFERS b0, b1, b2, b3, 
#define TCC_MAPS

static __device__ __forceinline__ void load_a(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i32 batch, i32 at, i32 k, f32 (&out_values)[4]) {
  if (k < 36) {
    i32 kk = min(35, k);
    f32 x[4];
    uint2 w = ((const uint2*)b1)[batch + kk * 16];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = x[v];
    }
  } else {
    #pragma unroll
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = 0.0f;
    }
  }
}

static __device__ __forceinline__ void load_b(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i32 batch, i32 at, i32 k, f32 (&out_values)[4]) {
  if (k < 9) {
    i32 m = min(391, at);
    i32 kk = min(8, k);
    f32 x[4];
    uint2 w = make_uint2(0u, 0u);
    if (((0 <= (((m / 14) % 14) + (kk / 3) - 1)) && ((((m / 14) % 14) + (kk / 3) - 1) < 14)) && ((0 <= ((kk % 3) + (m % 14) - 1)) && (((kk % 3) + (m % 14) - 1) < 14))) w = ((const uint2*)b0)[(m / 196) * 3136 + batch + min(13, max(((m / 14) % 14) + (kk / 3) - 1, 0)) * 224 + min(13, max((kk % 3) + (m % 14) - 1, 0)) * 16];
    x[0] = tcc_bits_f32(w.x << 16);
    x[1] = tcc_bits_f32(w.x & 0xffff0000u);
    x[2] = tcc_bits_f32(w.y << 16);
    x[3] = tcc_bits_f32(w.y & 0xffff0000u);
    #pragma unroll
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = x[v];
    }
  } else {
    #pragma unroll
    for (i32 v = 0; v < 4; ++v) {
      out_values[v] = 0.0f;
    }
  }
}

static __device__ __forceinline__ void epilogue(const u16* __restrict__ b0, const u16* __restrict__ b1, const u16* __restrict__ b2, u16* __restrict__ b3, i32 batch, i32 row, i32 part, const f32 (&acc)[1]) {
  if (row < 392) {
    i32 m = row;
    i32 n = part;
    b3[batch * 4 + m * 64 + n] = u16(tcc_f32_to_bf16(tcc_max_f32(acc[0] + tcc_bf16_to_f32(u32(b2[batch * 4 + n])), 0.0f)));
  }
}

// ... backends/device/cuda/gemv.cu follows

