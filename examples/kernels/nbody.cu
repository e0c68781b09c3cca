// acceleration[i] = sum over j of mass[j] (p[j] - p[i]) / (|p[j] - p[i]|^2 + SOFTENING^2)^(3/2). A thread keeps BODIES
// bodies in registers, THREADS apart, and walks over all others, which a workgroup reads together into shared memory
// when USE_SHARED is set. Bodies beyond N have no mass.

__device__ void attract(float4 other, float4 self, float3& sum) {
  const float x = other.x - self.x, y = other.y - self.y, z = other.z - self.z;
  const float inverse = rsqrtf(x * x + y * y + z * z + float(SOFTENING * SOFTENING));
  const float scale = other.w * inverse * inverse * inverse;
  sum.x += scale * x;
  sum.y += scale * y;
  sum.z += scale * z;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    nbody(const float4* __restrict__ bodies, float* __restrict__ acceleration) {
  const int first = blockIdx.x * THREADS * BODIES + threadIdx.x;
  const float4 nothing = make_float4(0, 0, 0, 0);
  float4 self[BODIES];
  float3 sum[BODIES] = {};
#pragma unroll
  for (int i = 0; i < BODIES; ++i)
    self[i] = first + i * THREADS < N ? bodies[first + i * THREADS] : nothing;

#if USE_SHARED
  __shared__ float4 tile[THREADS];
  for (int start = 0; start < N; start += THREADS) {
    const int j = start + threadIdx.x;
    tile[threadIdx.x] = j < N ? bodies[j] : nothing;
    __syncthreads();
#pragma unroll UNROLL
    for (int k = 0; k < THREADS; ++k) {
      const float4 other = tile[k];
#pragma unroll
      for (int i = 0; i < BODIES; ++i) attract(other, self[i], sum[i]);
    }
    __syncthreads();
  }
#else
#pragma unroll UNROLL
  for (int j = 0; j < N; ++j) {
    const float4 other = bodies[j];
#pragma unroll
    for (int i = 0; i < BODIES; ++i) attract(other, self[i], sum[i]);
  }
#endif

#pragma unroll
  for (int i = 0; i < BODIES; ++i) {
    const int body = first + i * THREADS;
    if (body >= N) continue;
    acceleration[3 * body] = sum[i].x;
    acceleration[3 * body + 1] = sum[i].y;
    acceleration[3 * body + 2] = sum[i].z;
  }
}
