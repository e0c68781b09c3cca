// Steps of a recurrent layer: common/recurrent.inc.
#ifndef STEPS  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define STEPS 4
#define BATCH 3
#define HIDDEN 10
#define GATES 4
#define FIRST_GATES 4
#define STATES 2
#define REVERSE 0
#define LENGTHS 1
#define STORE_OUT 1
#define QUANTIZED 0
#define ROWS 2
#define GROUPS 2
#define UNITS 10
#define PARTS 1
#define EXCHANGE 0
#define INITIAL 0
#define MATRIX 0
#define SHARES 2
#define THREAD_COLUMNS 2
#define THREAD_ROWS 1
#define WEIGHTS 0
#define W_VECTOR 2
#define WORKGROUP 64
#define GRID 2
#define TCC_ENTRY void main()
#define TCC_BLOCK gl_WorkGroupID.x
#define TCC_THREAD gl_LocalInvocationIndex
#define TCC_BUFFERS
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { f32 v[]; };
layout(push_constant) uniform Arguments { Floats b0; Floats b1; Floats b2; };
layout(local_size_x = WORKGROUP) in;
void load_x(i32 direction, i32 t, i32 row, i32 unit, inout f32 v[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0.v[(t * BATCH + row) * 40 + i * HIDDEN + unit];
}
void load_w(i32 direction, i32 row, i32 k, inout f32 v[2]) {
  for (i32 i = 0; i < 2; ++i) v[i] = b1.v[row * HIDDEN + k * 2 + i];
}
void initial(i32 direction, i32 row, i32 unit, inout f32 v[2]) { v[0] = 0.0; v[1] = 0.0; }
i32 length(i32 row) { return STEPS; }
void cell(i32 direction, i32 unit, in f32 x[4], in f32 p[4], in f32 state[2], inout f32 next[2]) {
  next[1] = state[1] + x[0] + p[0];
  next[0] = next[1] * (x[1] + p[1]);
}
void store_out(i32 direction, i32 t, i32 row, i32 unit, in f32 v[1]) { b2.v[(t * BATCH + row) * HIDDEN + unit] = v[0]; }
void store_last(i32 direction, i32 row, i32 unit, in f32 v[2]) {}
f32 rounded(in f32 v[1]) { return v[0]; }
#endif

#define TCC_UNROLL [[unroll]]
#define TCC_UNROLL_4
#define TCC_BARRIER barrier();
#define TCC_BEGIN
#define TCC_POOL shared f32 pool[POOL];
#include "../common/recurrent.inc"
