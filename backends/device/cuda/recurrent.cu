// Steps of a recurrent layer: common/recurrent.inc.
#ifndef STEPS  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define STEPS 4
#define BATCH 3
#define HIDDEN 10
#define GATES 4
#define STATES 2
#define REVERSE 0
#define LENGTHS 1
#define STORE_OUT 1
#define ROWS 2
#define GROUPS 2
#define SHARES 2
#define THREAD_COLUMNS 2
#define THREAD_ROWS 1
#define WEIGHTS 0
#define W_VECTOR 2
#define WORKGROUP 64
#define GRID 2
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) recurrent(const f32* b0, const f32* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
#define BUFFERS const f32 *b0, const f32 *b1, f32 *b2,
#define HOOK static __device__ __forceinline__
HOOK void load_x(BUFFERS i32 direction, i32 t, i32 row, i32 unit, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0[(t * BATCH + row) * 40 + i * HIDDEN + unit];
}
HOOK void load_w(BUFFERS i32 direction, i32 row, i32 k, f32 (&v)[2]) {
  for (i32 i = 0; i < 2; ++i) v[i] = b1[row * HIDDEN + k * 2 + i];
}
HOOK void initial(BUFFERS i32 direction, i32 row, i32 unit, f32 (&v)[2]) { v[0] = v[1] = 0.0f; }
HOOK i32 length(BUFFERS i32 row) { return STEPS; }
HOOK void cell(BUFFERS i32 direction, i32 unit, const f32 (&x)[4], const f32 (&p)[4], const f32 (&state)[2],
               f32 (&next)[2]) {
  next[1] = state[1] + x[0] + p[0];
  next[0] = next[1] * (x[1] + p[1]);
}
HOOK void store_out(BUFFERS i32 direction, i32 t, i32 row, i32 unit, const f32 (&v)[1]) {
  b2[(t * BATCH + row) * HIDDEN + unit] = v[0];
}
HOOK void store_last(BUFFERS i32 direction, i32 row, i32 unit, const f32 (&v)[2]) {}
HOOK f32 rounded(BUFFERS const f32 (&v)[1]) { return v[0]; }
#endif

#define TCC_UNROLL _Pragma("unroll")
#define TCC_BARRIER __syncthreads();
#define TCC_POOL extern __shared__ f32 pool[];
#include "../common/recurrent.inc"
