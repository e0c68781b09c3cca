// The warpgroups that multiply: the sums of a tile over the k tiles of a pipeline.
#include "sm90_pipeline.cuh"
#include "wgmma.cuh"

// Issues acc += A B (or acc = A B) over STEPS steps of a k tile, for SLABS times 64 rows of one warpgroup. Unit is a Wgmma.
// A's rows begin at the tile that `a` describes (Unit::describe_a), B's columns at `b`.
template <class Unit, i32 STEPS = 4, i32 SLABS>
TCC_FN void multiply_tile(typename Unit::Acc (&acc)[SLABS][Unit::SUMS], u32 a, u32 b, bool accumulate) {
#pragma unroll
  for (i32 step = 0; step < STEPS; ++step)
#pragma unroll
    for (i32 m = 0; m < SLABS; ++m)
      Unit::multiply(acc[m], a + Unit::step_a(step) + Unit::slab_a(m), b + Unit::step_b(step), step != 0 || accumulate);
}
// Products write their accumulators behind the compiler's back. After wgmma_wait: these may be read.
template <class Unit, i32 SLABS> TCC_FN void settle(typename Unit::Acc (&acc)[SLABS][Unit::SUMS]) {
#pragma unroll
  for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
    for (i32 i = 0; i < Unit::SUMS; ++i) Unit::settle(acc[m][i]);
}

// acc = the sum over k tiles [k_begin, k_end) of A B, for SLABS times 64 rows of one warpgroup. A's rows
// of this group begin at `offset_a` of a stage, B's columns at `offset_b`. Calls `issued` when all products are on their
// way, and `release` of each stage that has been read. K tile number `last_tile` has LAST_STEPS steps.
template <class Unit, i32 LAST_STEPS = 4, i32 SLABS, class Stages, class ReleaseStage, class Issued>
TCC_FN void multiply(typename Unit::Acc (&acc)[SLABS][Unit::SUMS], Stages& stages, u32 offset_a, u32 offset_b,
                     i32 k_begin, i32 k_end, const ReleaseStage& release, const Issued& issued, i32 last_tile = 0) {
  u32 last = 0;  // the stage that the pending products read
#pragma unroll 1
  for (i32 k = k_begin; k < k_end; ++k) {
    const u32 a = Unit::describe_a(stages.tile() + offset_a), b = Unit::describe_b(stages.tile() + offset_b);
    stages.wait_until_full();
    wgmma_fence();
    if (LAST_STEPS < 4 && k == last_tile)
      multiply_tile<Unit, LAST_STEPS>(acc, a, b, k != k_begin);
    else
      multiply_tile<Unit>(acc, a, b, k != k_begin);
    wgmma_commit();
    if (k != k_begin) {
      wgmma_wait<1>();
      release(last);
    }
    last = stages.stage;
    stages.advance(1);
  }
  issued();
  wgmma_wait<0>();
  settle<Unit>(acc);
  release(last);
}

// The same for K-major operands whose sums the unit keeps in few bits: it adds up one k tile, f32 registers the tiles.
// The other groups' products run under these additions.
template <class Unit, i32 LAST_STEPS = 4, i32 SLABS, class Stages, class ReleaseStage, class Issued>
TCC_FN void multiply_promoted(typename Unit::Acc (&acc)[SLABS][Unit::SUMS], Stages& stages, u32 offset_a, u32 offset_b,
                              i32 k_begin, i32 k_end, const ReleaseStage& release, const Issued& issued,
                              i32 last_tile = 0) {
  static_assert(Unit::a_major_k && Unit::b_major_k, "operands of 8 bits are K-major");
  typename Unit::Acc part[Unit::SUMS];
#pragma unroll
  for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
    for (i32 i = 0; i < Unit::SUMS; ++i) acc[m][i] = 0;
#pragma unroll 1
  for (i32 k = k_begin; k < k_end; ++k) {
    const u32 a = Unit::describe_a(stages.tile() + offset_a), b = Unit::describe_b(stages.tile() + offset_b);
    stages.wait_until_full();
#pragma unroll
    for (i32 m = 0; m < SLABS; ++m) {
      wgmma_fence();
#pragma unroll
      for (i32 step = 0; step < LAST_STEPS; ++step)
        Unit::multiply(part, a + Unit::step_a(step) + Unit::slab_a(m), b + Unit::step_b(step), step != 0);
      if (LAST_STEPS < 4 && k != last_tile) {
#pragma unroll
        for (i32 step = LAST_STEPS; step < 4; ++step)
          Unit::multiply(part, a + Unit::step_a(step) + Unit::slab_a(m), b + Unit::step_b(step), 1);
      }
      wgmma_commit();
      if (m == SLABS - 1 && k == k_end - 1) issued();
      wgmma_wait<0>();
      if (m == SLABS - 1) release(stages.stage);
#pragma unroll
      for (i32 i = 0; i < Unit::SUMS; ++i) {
        Unit::settle(part[i]);
        acc[m][i] += part[i];
      }
    }
    stages.advance(1);
  }
}
