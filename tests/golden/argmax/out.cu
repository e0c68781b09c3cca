// ==== argmax [reduction] keep=0 row_threads=64 rows=4 vector=4
// y = argmax(x) : i64[64]
__shared__ f32 exchange[256];
__shared__ i64 exchange1[256];
__shared__ f32 exchange2[256];
__shared__ i64 exchange3[256];

extern "C" __global__ void __launch_bounds__(256) argmax_kernel(const f32* __restrict__ b0, i64* __restrict__ b1) {
  tcc_cuda_release();
  tcc_cuda_wait();
  i32 block = i32(blockIdx.x + blockIdx.y * gridDim.x);
  i32 thread = i32(threadIdx.x);
  i32 lane = thread & 63;
  i32 row = (thread >> 6) + block * 4;
  f32 argmax_value = -tcc_inf_f32();
  i64 argmax = i64(1000ll);
  {
    #pragma unroll
    for (i32 e = 0; e < 4; ++e) {
      if ((e * 64 + lane) < 250) {
        i32 group = e * 64 + lane;
        f32 x[4];
        uint4 w = ((const uint4*)b0)[group + row * 250];
        x[0] = tcc_bits_f32(w.x);
        x[1] = tcc_bits_f32(w.y);
        x[2] = tcc_bits_f32(w.z);
        x[3] = tcc_bits_f32(w.w);
        #pragma unroll
        for (i32 v = 0; v < 4; ++v) {
          bool t = tcc_isnan_f32(x[v]);
          bool t1 = tcc_isnan_f32(argmax_value);
          if (((x[v] > argmax_value) || (t && (!t1))) || (((x[v] == argmax_value) || (t && t1)) && (tcc_i32_to_i64(group * 4 + v) < argmax))) {
            argmax_value = x[v];
            argmax = tcc_i32_to_i64(group * 4 + v);
          }
        }
      }
    }
  }
  exchange[thread] = argmax_value;
  exchange1[thread] = argmax;
  __syncthreads();
  argmax_value = exchange[-(thread & 15) + thread];
  argmax = exchange1[-(thread & 15) + thread];
  #pragma unroll
  for (i32 x1 = 0; x1 < 15; ++x1) {
    bool t2 = tcc_isnan_f32(exchange[-(thread & 15) + thread + x1 + 1]);
    bool t3 = tcc_isnan_f32(argmax_value);
    if (((exchange[-(thread & 15) + thread + x1 + 1] > argmax_value) || (t2 && (!t3))) || (((exchange[-(thread & 15) + thread + x1 + 1] == argmax_value) || (t2 && t3)) && (exchange1[-(thread & 15) + thread + x1 + 1] < argmax))) {
      argmax_value = exchange[-(thread & 15) + thread + x1 + 1];
      argmax = exchange1[-(thread & 15) + thread + x1 + 1];
    }
  }
  exchange2[thread] = argmax_value;
  exchange3[thread] = argmax;
  __syncthreads();
  argmax_value = exchange2[-((thread >> 4) & 3) * 16 + thread];
  argmax = exchange3[-((thread >> 4) & 3) * 16 + thread];
  #pragma unroll
  for (i32 x2 = 0; x2 < 3; ++x2) {
    bool t4 = tcc_isnan_f32(exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16]);
    bool t5 = tcc_isnan_f32(argmax_value);
    if (((exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] > argmax_value) || (t4 && (!t5))) || (((exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] == argmax_value) || (t4 && t5)) && (exchange3[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16] < argmax))) {
      argmax_value = exchange2[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
      argmax = exchange3[-((thread >> 4) & 3) * 16 + thread + x2 * 16 + 16];
    }
  }
  if (lane == 0) {
    b1[row] = argmax;
  }
}

