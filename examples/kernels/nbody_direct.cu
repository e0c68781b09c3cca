// acceleration[i] = sum over j of mass[j] (p[j] - p[i]) / (|p[j] - p[i]|^2 + SOFTENING^2)^(3/2).
extern "C" __global__ void nbody_direct(const float4* bodies, float* acceleration) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= N) return;
  const float4 self = bodies[i];
  float sum_x = 0, sum_y = 0, sum_z = 0;
  for (int j = 0; j < N; ++j) {
    const float4 other = bodies[j];
    const float x = other.x - self.x, y = other.y - self.y, z = other.z - self.z;
    const float distance = sqrtf(x * x + y * y + z * z + float(SOFTENING * SOFTENING));
    const float scale = other.w / (distance * distance * distance);
    sum_x += scale * x;
    sum_y += scale * y;
    sum_z += scale * z;
  }
  acceleration[3 * i] = sum_x;
  acceleration[3 * i + 1] = sum_y;
  acceleration[3 * i + 2] = sum_z;
}
