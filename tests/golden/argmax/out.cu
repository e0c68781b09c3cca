// ==== argmax [reduction] keep=0 row_threads=64 rows=4 vector=4
// y = argmax(x) : i64[64]
__shared__ f32 exchange0_f32[256];
__shared__ i64 exchange3_i64[256];
__shared__ f32 exchange1_f32[256];
__shared__ i64 exchange4_i64[256];

extern "C" __global__ void __launch_bounds__(256) argmax_kernel(const f32* __restrict__ b0, i64* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 row = (thread >> 6) + block * 4;
  f32 argmax0_value = -tcc_inf_f32();
  i64 argmax0 = i64(1000ll);
  {
    #pragma unroll
    for (i32 e = 0; e < 4; ++e) {
      if ((e * 64 + lane) < 250) {
        i32 group = e * 64 + lane;
        f32 x0[4];
        uint4 w0 = ((const uint4*)b0)[group + row * 250];
        x0[0] = tcc_bits_f32(w0.x);
        x0[1] = tcc_bits_f32(w0.y);
        x0[2] = tcc_bits_f32(w0.z);
        x0[3] = tcc_bits_f32(w0.w);
        #pragma unroll
        for (i32 v = 0; v < 4; ++v) {
          bool t1 = tcc_isnan_f32(x0[v]);
          bool t2 = tcc_isnan_f32(argmax0_value);
          if (((x0[v] > argmax0_value) || (t1 && (!t2))) || (((x0[v] == argmax0_value) || (t1 && t2)) && (tcc_i32_to_i64(group * 4 + v) < argmax0))) {
            argmax0_value = x0[v];
            argmax0 = tcc_i32_to_i64(group * 4 + v);
          }
        }
      }
    }
  }
  exchange0_f32[thread] = argmax0_value;
  exchange3_i64[thread] = argmax0;
  __syncthreads();
  argmax0_value = exchange0_f32[-(thread & 15) + thread];
  argmax0 = exchange3_i64[-(thread & 15) + thread];
  #pragma unroll
  for (i32 x1 = 0; x1 < 15; ++x1) {
    bool t3 = tcc_isnan_f32(exchange0_f32[-(thread & 15) + thread + x1 + 1]);
    bool t4 = tcc_isnan_f32(argmax0_value);
    if (((exchange0_f32[-(thread & 15) + thread + x1 + 1] > argmax0_value) || (t3 && (!t4))) || (((exchange0_f32[-(thread & 15) + thread + x1 + 1] == argmax0_value) || (t3 && t4)) && (exchange3_i64[-(thread & 15) + thread + x1 + 1] < argmax0))) {
      argmax0_value = exchange0_f32[-(thread & 15) + thread + x1 + 1];
      argmax0 = exchange3_i64[-(thread & 15) + thread + x1 + 1];
    }
  }
  exchange1_f32[thread] = argmax0_value;
  exchange4_i64[thread] = argmax0;
  __syncthreads();
  argmax0_value = exchange1_f32[-((thread >> 4) & 3) * 16 + thread];
  argmax0 = exchange4_i64[-((thread >> 4) & 3) * 16 + thread];
  #pragma unroll
  for (i32 x2 = 0; x2 < 3; ++x2) {
    bool t5 = tcc_isnan_f32(exchange1_f32[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16]);
    bool t6 = tcc_isnan_f32(argmax0_value);
    if (((exchange1_f32[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] > argmax0_value) || (t5 && (!t6))) || (((exchange1_f32[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] == argmax0_value) || (t5 && t6)) && (exchange4_i64[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] < argmax0))) {
      argmax0_value = exchange1_f32[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
      argmax0 = exchange4_i64[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
    }
  }
  if (lane == 0) {
    b1[row] = argmax0;
  }
}

