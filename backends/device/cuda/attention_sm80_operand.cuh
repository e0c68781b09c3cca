// How a workgroup of attention_sm80 brings a tile of queries, keys or values to shared memory: rows of the operand, zeros
// behind them and behind their depth. Copies are asynchronous where rows are aligned to 4 bytes or more; else threads
// load and store.
#include "sm80_operand.cuh"

// A row of an operand: its batch, its number there, and whether there is such a row. Others are not read.
struct OperandRow {
  i32 batch, row;
  bool exists;
};

// The hooks of one operand, with the kernel's buffers filled in.
template <class LoadHook, class StartHook, class RowHook, class Value> struct AttentionHooksOf {
  LoadHook load;    // load(batch, row, d, v): computes neighbours along the depth; `d` counts vectors
  StartHook start;  // start(batch): the offset of a batch's first element
  RowHook row;      // row(batch, row): that of a row, where rows lie apart
  const Value* buffer;
};
template <class LoadHook, class StartHook, class RowHook, class Value>
AttentionHooksOf(LoadHook, StartHook, RowHook, const Value*) -> AttentionHooksOf<LoadHook, StartHook, RowHook, Value>;
// Those of operand `x`: q, k or v.
#define ATTENTION_HOOKS(x)                                                                      \
  AttentionHooksOf {                                                                            \
    [&](i32 batch, auto row, auto d, auto& v) { load_##x(TCC_BUFFERS batch, row, d, v); },      \
        [&](auto batch) -> i64 { return start_##x(TCC_BUFFERS batch); },                        \
        [&](auto batch, auto row) -> i64 { return row_##x(TCC_BUFFERS batch, row); },           \
        (const Stored<params.element>*)buffer_at<i32(params.x.buffer)>(TCC_BUFFERS nullptr)          \
  }

// Brings the tile of rows `place`(0), `place`(1), ... to shared memory at `memory`; `offset`(r) is where the r-th one
// begins, for those that are not computed. Side says what is known when the kernel is compiled: `operand`, `Tile`,
// `element`, `depth`, `threads`, whether rows are `linear`: one stride apart, and how many computed vectors of a thread are
// on their way `together`.
template <class Side, class Hooks, class Place, class Offset>
TCC_FN void bring(const Hooks& hooks, unsigned char* memory, i32 thread, Place place, Offset offset) {
  using Tile = typename Side::Tile;
  using Value = typename Tile::Value;
  constexpr AttentionOperand X = Side::operand;
  constexpr i32 VECTOR = X.vector, DEPTH = Side::depth, THREADS = Side::threads;
  if constexpr (X.load == Load::tiles) {
    constexpr i32 VECTORS_OF_ROW = Tile::COLUMNS / VECTOR;
    const u32 shared = tcc_cuda_shared(memory);
    const auto copy = [&](i32 r, i32 c, const Value* from) {
      const i32 left = DEPTH - c, inside = DEPTH == Tile::COLUMNS || left > VECTOR ? VECTOR : left < 0 ? 0 : left;
      copy_async<VECTOR * sizeof(Value)>(shared + Tile::offset(r, c), from,
                                         place(r).exists ? inside * i32(sizeof(Value)) : 0);
    };
    if constexpr (Side::linear && THREADS % VECTORS_OF_ROW == 0 && Tile::ROWS * VECTORS_OF_ROW % THREADS == 0) {
      // A thread's copies are of one column: their addresses differ by constants.
      constexpr i32 STEP = THREADS / VECTORS_OF_ROW;
      const i32 row = u32(thread) / VECTORS_OF_ROW, c = u32(thread) % VECTORS_OF_ROW * VECTOR;
      const Value* const from = hooks.buffer + (offset(row) + c);
#pragma unroll
      for (i32 r = 0; r < Tile::ROWS; r += STEP) copy(row + r, c, from + i64(r) * Side::operand.stride);
    } else if constexpr (X.apart) {
      // The places of several rows are on their way at the same time.
      constexpr i32 ALL = VECTORS<Tile, VECTOR, THREADS, 1>, PIECES = ALL < 4 ? 1 : ALL / 4;
#pragma unroll
      for (i32 piece = 0; piece < PIECES; ++piece) {
        const Value* from[VECTORS<Tile, VECTOR, THREADS, PIECES>];
        each_vector<Tile, VECTOR, THREADS, PIECES>(
            thread, piece, [&](i32 i, i32 r, i32 c) { from[i] = hooks.buffer + (offset(r) + c); });
        each_vector<Tile, VECTOR, THREADS, PIECES>(thread, piece, [&](i32 i, i32 r, i32 c) { copy(r, c, from[i]); });
      }
    } else {
      each_vector<Tile, VECTOR, THREADS, 1>(thread, 0,
                                            [&](i32, i32 r, i32 c) { copy(r, c, hooks.buffer + (offset(r) + c)); });
    }
  } else if constexpr (X.load == Load::rows) {
    constexpr i32 CHUNK = Tile::CHUNK, CHUNKS = Tile::CHUNKS, COUNT = Tile::ROWS * CHUNKS;
#pragma unroll 4
    for (i32 n = thread; n < COUNT; n += THREADS) {
      const i32 r = n / CHUNKS, c = n % CHUNKS * CHUNK;
      const OperandRow at = place(r);
      u32 w[4];
      shift_unaligned<Value>(fetch_unaligned(hooks.buffer + offset(r), c, DEPTH, at.exists), at.exists ? DEPTH - c : 0, w);
      *(uint4*)(memory + Tile::offset(r, c)) = make_uint4(w[0], w[1], w[2], w[3]);
    }
  } else {
    // Several vectors are on their way at the same time: those of rows that do not exist read the first row in their
    // place, so that no branch stands between the loads.
    constexpr i32 VECTORS_OF_ROW = Tile::COLUMNS / VECTOR, COUNT = Tile::ROWS * VECTORS_OF_ROW;
    constexpr i32 TOGETHER = Side::together;
    constexpr bool FILLS = COUNT % (THREADS * TOGETHER) == 0;
    const OperandRow first = place(0);
#pragma unroll 1
    for (i32 begin = thread; begin < COUNT; begin += THREADS * TOGETHER) {
      f32 v[TOGETHER][VECTOR];
      const auto each = [&](auto f) {
#pragma unroll
        for (i32 j = 0; j < TOGETHER; ++j) {
          const i32 n = FILLS || begin + j * THREADS < COUNT ? begin + j * THREADS : begin;
          f(v[j], X.along_rows ? n % Tile::ROWS : n / VECTORS_OF_ROW, X.along_rows ? n / Tile::ROWS : n % VECTORS_OF_ROW);
        }
      };
      if (first.exists)
        each([&](auto& of, i32 r, i32 d) {
          const OperandRow at = place(r);
          hooks.load(at.exists ? at.batch : first.batch, at.exists ? at.row : first.row, d, of);
        });
      each([&](auto& of, i32 r, i32 d) {
        const bool exists = place(r).exists;
#pragma unroll
        for (i32 i = 0; i < VECTOR; ++i) of[i] = exists ? of[i] : 0;
        put<Side::element, Tile>(memory, r, d * VECTOR, of);
      });
    }
  }
}
