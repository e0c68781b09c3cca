// The sums of a workgroup's tile over all tiles of k: each warp multiplies fragments from shared memory while the
// operands' next tiles are on their way.
#include "sm80_operand.cuh"

// acc += A B over k_tiles tiles (a Size), each of K_STEPS k steps. Operands are those of sm80_operand.cuh. Their tiles
// pass through STAGES slots of shared memory at `memory`, B's behind A's, STAGES - 1 tiles of k ahead of their use.
// Fragments are read one k step ahead.
template <Element A, Element B, i32 STAGES, i32 K_STEPS, class KTiles, class OperandA, class OperandB, i32 FRAGMENTS_M,
          i32 FRAGMENTS_N, class Acc>
TCC_FN void multiply(Acc (&acc)[FRAGMENTS_M][FRAGMENTS_N][4], OperandA& operand_a, OperandB& operand_b, KTiles k_tiles,
                     unsigned char* memory, i32 warp_m, i32 warp_n, i32 lane) {
  using TileA = typename OperandA::Tile;
  using TileB = typename OperandB::Tile;
  constexpr u32 STAGE_BYTES = TileA::BYTES + TileB::BYTES;
  const u32 shared = u32(__cvta_generic_to_shared(memory));
  const FragmentsOfA<TileA> fragments_a(warp_m, lane);
  const FragmentsOfB<TileB> fragments_b(warp_n, lane);
  auto fetch = [&](i32 tile, u32 slot, i32 piece) {
    operand_a.fetch(tile, shared + slot, piece);
    operand_b.fetch(tile, shared + slot + TileA::BYTES, piece);
  };
  auto store = [&](i32 tile, u32 slot, i32 piece) {
    operand_a.store(tile, memory + slot, piece);
    operand_b.store(tile, memory + slot + TileA::BYTES, piece);
  };
  auto read_a = [&](u32 slot, i32 step, i32 i, u32(&a)[4]) { fragments_a.read(shared + slot, step, i, a); };
  auto read_b = [&](u32 slot, i32 step, i32 j, u32(&b0)[2], u32(&b1)[2]) {
    fragments_b.read(shared + slot + TileA::BYTES, step, j, b0, b1);
  };

#pragma unroll 1
  for (i32 tile = 0; tile < STAGES - 1; ++tile) {
    if (tile < k_tiles) {
#pragma unroll
      for (i32 piece = 0; piece < K_STEPS; ++piece) {
        fetch(tile, tile * STAGE_BYTES, piece);
        store(tile, tile * STAGE_BYTES, piece);
      }
    }
    commit_copies();
  }
  wait_for_copies<STAGES - 2>();
  // A slot is free when the last fragments of its tile are read and the barrier after that is passed: in the last step of
  // that tile. The slot gets a first piece there, the others during the next tile.
  if (STAGES - 1 < k_tiles) {
    fetch(STAGES - 1, (STAGES - 1) * STAGE_BYTES, 0);
    store(STAGES - 1, (STAGES - 1) * STAGE_BYTES, 0);
  }
  constexpr u32 LAST_SLOT = (STAGES - 1) * STAGE_BYTES;
  u32 slot = 0;
  // Fragments of A of the next step are read into other registers, those of B in place of those that are done with.
  static_assert(K_STEPS % 2 == 0, "a tile begins in the same registers as the one before it");
  u32 a[2][FRAGMENTS_M][4];
  u32 b[FRAGMENTS_N][2];
#pragma unroll
  for (i32 i = 0; i < FRAGMENTS_M; ++i) read_a(slot, 0, i, a[0][i]);
#pragma unroll
  for (i32 j = 0; j < FRAGMENTS_N; j += 2) read_b(slot, 0, j, b[j], b[j + 1]);

#pragma unroll 1
  for (i32 tile = 0; tile < k_tiles; ++tile) {
    const u32 next_slot = slot == LAST_SLOT ? 0 : slot + STAGE_BYTES;
    const u32 free_slot = slot == 0 ? LAST_SLOT : slot - STAGE_BYTES;
#pragma unroll
    for (i32 step = 0; step < K_STEPS; ++step) {
      const bool last_step = step == K_STEPS - 1;
      const i32 next_step = (step + 1) % K_STEPS, now = step % 2;
      const i32 fetched = last_step ? tile + STAGES : tile + STAGES - 1;
      const u32 to = last_step ? slot : free_slot;
      // After the last tile fragments are those of a slot of no meaning, and nobody uses them.
      const u32 from = last_step ? next_slot : slot;
#pragma unroll
      for (i32 j = 0; j < FRAGMENTS_N; j += 2) {
#pragma unroll
        for (i32 i = 0; i < FRAGMENTS_M; ++i) {
          mma<A, B>(acc[i][j], a[now][i], b[j]);
          mma<A, B>(acc[i][j + 1], a[now][i], b[j + 1]);
        }
        if (last_step && j == 0) {
          commit_copies();
          wait_for_copies<STAGES - 2>();
        }
        // Reads and copies are spread over the products.
#pragma unroll
        for (i32 i = 0; i < FRAGMENTS_M; ++i)
          if (i * FRAGMENTS_N / FRAGMENTS_M / 2 * 2 == j) read_a(from, next_step, i, a[1 - now][i]);
        read_b(from, next_step, j, b[j], b[j + 1]);
        if (j == FRAGMENTS_N / 4 * 2 && fetched < k_tiles) fetch(fetched, to, next_step);
      }
      if (fetched < k_tiles) store(fetched, to, next_step);
    }
    slot = next_slot;
  }
}
