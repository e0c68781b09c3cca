// The warpgroup that loads: it fills a pipeline's stages with the k tiles of two operands of any kinds.
#include "sm90_computed.cuh"
#include "sm90_computed_bytes.cuh"
#include "sm90_pieces.cuh"
#include "sm90_rows.cuh"

// Makes an operand for a tile of the result, whose rows (of B: columns) begin at `at`. Side says what is known when the
// kernel is compiled: `operand`, `sum`, `Free` and `K` (Sizes: of its rows and of k), `block` (rows of a tile), `rows` (those that are
// copied), `clips` (whether they are fewer where the operand has fewer), `share` (workgroups that copy a tile together),
// `registers` (for computed values in flight), `in_pieces` (sm90_pieces.cuh). `slice` and `mask`: see TiledOperand.
template <class Side, class Hooks>
TCC_FN auto operand_at(const Hooks& hooks, const TensorMap* map, i32 slice, u16 mask, i32 batch, i32 at, i32 thread,
                       i32 k_begin, typename Side::Free size, typename Side::K size_k) {
  constexpr Operand X = Side::operand;
  if constexpr (X.load == Load::im2col) {
    return ImageOperand<Side>(*map, slice, mask, batch, at, hooks.batch);
  } else if constexpr (Side::in_pieces) {
    return PiecesOperand<Side>(*map, slice, mask, batch, at, hooks.batch);
  } else if constexpr (X.load == Load::tiles) {
    using Rows = Size<(Side::clips ? 0 : Side::rows)>;
    const i32 rows = Side::clips ? i32(sm90::rows_loaded(X, size, Side::rows, 1)) : Side::rows;
    return TiledOperand<X.rank, X.element, X.major_k, Side::rows, Side::share, Rows>(*map, slice, mask, batch, at, hooks.batch,
                                                                                    Rows(rows));
  } else if constexpr (X.load == Load::computed) {
    using Acc = SumType<Side::sum>;
    auto load = [&hooks, batch](i32 at, i32 k, auto& v) { hooks.load(batch, at, k, v); };
    using Hook = decltype(load);
    using Operand =
        Either<bytes_of(X.element) == 1,
               ComputedBytes<X.element, Acc, Side::block, X.vector, X.vector_along_k, Side::registers, Hook>,
               ComputedOperand<X.element, Side::block, X.vector, X.vector_along_k, X.major_k, Side::registers, Hook>>;
    return Operand{{}, thread, at, load};
  } else {
    constexpr i32 BYTES = bytes_of(X.element);
    RowsOperand<BYTES, Side::block, typename Side::K> rows(size_k);
    rows.start((const u8*)hooks.buffer + hooks.line(batch, at) * BYTES,
               i32(hooks.line(0, 1) - hooks.line(0, 0)) * BYTES, size - at, thread);
    rows.load_tails(k_begin * rows.BLOCK_K);
    return rows;
  }
}

// Says how many bytes the copies of a k tile bring. Where threads store what else the stage holds, they arrive themselves.
template <class A, class B> TCC_FN void expect_copies(const A& a, const B& b, u32 full, i32 k) {
  const i32 bytes = a.bytes_at(k) + b.bytes_at(k);
  if (is_copied(A::kind) && is_copied(B::kind))
    barrier_arrive_expect(full, bytes);
  else
    barrier_expect(full, bytes);
}

// Begins the copies of k tiles [k_begin, k_begin + count) to the first stages: those of A alone (OF_A), or of B. The
// stages' barriers wait for all that is copied. By one warp, before any other stage is filled.
template <bool OF_A, i32 BLOCK_K, i32 A_BYTES, class A, class B, class Stages>
TCC_FN void begin_copies(const A& a, const B& b, Stages stages, i32 k_begin, i32 count) {
  if (!elect_lane()) return;
#pragma unroll 1
  for (i32 t = 0; t < count; ++t, stages.advance(1)) {
    const i32 k = (k_begin + t) * BLOCK_K;
    expect_copies(a, b, stages.full_barrier(), k);
    if constexpr (OF_A)
      a.copy(stages.tile(), stages.full_barrier(), k);
    else
      b.copy(stages.tile() + A_BYTES, stages.full_barrier(), k);
  }
}

// Brings the k tiles [k_begin, k_end) of A and B, of BLOCK_K elements, to the pipeline's stages, B's A_BYTES behind A's.
// The copies of one operand's first `begun` tiles are under way (begin_copies). BEGUN says whose: 1: A's, 2: B's.
// REGISTERS of a thread may hold loads in flight, those of computed operands included. `copies`: this warp issues copies.
template <i32 BLOCK_K, i32 A_BYTES, i32 REGISTERS, i32 COMPUTED_REGISTERS, i32 BEGUN, class A, class B, class Stages>
TCC_FN void produce(A& a, B& b, Stages& stages, i32 k_begin, i32 k_end, bool copies, i32 begun) {
  constexpr bool computes = A::kind == Load::computed || B::kind == Load::computed;
  constexpr bool shifts = A::kind == Load::rows || B::kind == Load::rows;
  constexpr i32 copied = A::copied_bytes + B::copied_bytes;
  // Tiles of k that are computed at once, to have more loads in flight.
  constexpr i32 words = A::words_in_flight + B::words_in_flight;
  constexpr i32 tiles_in_flight = words == 0 ? 1 : (REGISTERS < 64 ? REGISTERS : 64) / words;
  constexpr i32 ahead = !computes || shifts || A::rounds > 1 || B::rounds > 1 ? 1
                        : tiles_in_flight < 1                                 ? 1
                        : tiles_in_flight < 4                                 ? tiles_in_flight
                                                                              : 4;
  // Units of rows in flight: a divisor of a stage's, so that each has its registers.
  constexpr i32 all_units = A::units + B::units;
  constexpr i32 most_units = (REGISTERS - (computes ? COMPUTED_REGISTERS : 0)) / 8;
  constexpr i32 units_in_flight = [] {
    for (i32 n = all_units; n > 1; --n)
      if (all_units % n == 0 && n <= most_units) return n;
    return 1;
  }();

  typename A::Values values_a[ahead];
  typename B::Values values_b[ahead];
  u32 units[units_in_flight][8] = {};
  auto load_unit = [&](i32 unit, i32 k) {
    if constexpr (A::kind == Load::rows)
      if (unit < A::units) a.load(unit, k, units[unit % units_in_flight]);
    if constexpr (B::kind == Load::rows)
      if (unit >= A::units) b.load(unit - A::units, k, units[unit % units_in_flight]);
  };
  if constexpr (shifts) {
#pragma unroll
    for (i32 unit = 0; unit < units_in_flight; ++unit) load_unit(unit, k_begin * BLOCK_K);
  }
#pragma unroll 1
  for (i32 k_tile = k_begin; k_tile < k_end; k_tile += ahead) {
    if constexpr (computes) {
#pragma unroll
      for (i32 t = 0; t < ahead; ++t) {
        const i32 k = (k_tile + t < k_end ? k_tile + t : k_end - 1) * BLOCK_K;
        if constexpr (A::kind == Load::computed) a.fetch(values_a[t], 0, k);
        if constexpr (B::kind == Load::computed) b.fetch(values_b[t], 0, k);
      }
    }
#pragma unroll
    for (i32 t = 0; t < ahead; ++t) {
      if (t != 0 && k_tile + t >= k_end) break;
      const i32 k = (k_tile + t) * BLOCK_K;
      const u32 tile_a = stages.tile(), tile_b = tile_a + A_BYTES;
      const u32 full = stages.full_barrier();
      stages.wait_until_empty();
      if (copied != 0 && copies && elect_lane()) {
        const bool is_begun = BEGUN != 0 && k_tile + t < k_begin + begun;
        if (!is_begun) expect_copies(a, b, full, k);
        if constexpr (is_copied(A::kind))
          if (BEGUN != 1 || !is_begun) a.copy(tile_a, full, k);
        if constexpr (is_copied(B::kind))
          if (BEGUN != 2 || !is_begun) b.copy(tile_b, full, k);
      }
      if constexpr (A::kind == Load::computed) store_computed(a, values_a[t], k, tile_a);
      if constexpr (B::kind == Load::computed) store_computed(b, values_b[t], k, tile_b);
      // As a unit is stored, its registers take the next one; beyond the end of k nothing is read.
      if constexpr (A::kind == Load::rows) {
        a.store_tails(k, tile_a);
        a.load_tails(k + BLOCK_K);
      }
      if constexpr (B::kind == Load::rows) {
        b.store_tails(k, tile_b);
        b.load_tails(k + BLOCK_K);
      }
      if constexpr (shifts) {
#pragma unroll
        for (i32 unit = 0; unit < all_units; ++unit) {
          if constexpr (A::kind == Load::rows)
            if (unit < A::units) a.store(unit, k, units[unit % units_in_flight], tile_a);
          if constexpr (B::kind == Load::rows)
            if (unit >= A::units) b.store(unit - A::units, k, units[unit % units_in_flight], tile_b);
          const i32 next = unit + units_in_flight;
          load_unit(next % all_units, next < all_units ? k : k + BLOCK_K);
        }
      }
      if (computes || shifts) {
        fence_async_proxy();
        barrier_arrive(full);
      }
      stages.advance(1);
    }
  }
}
