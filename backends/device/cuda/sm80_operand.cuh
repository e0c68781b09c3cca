// How a workgroup brings the tiles of an operand to a slot of shared memory. A tile moves in PIECES, one during each k
// step of the tile that is multiplied meanwhile: loads are spread over time, and those that pass through registers need
// few of them. An operand is one of five classes; its kernel calls, for every piece of a tile of k,
//   fetch(tile, slot, piece)   at the start of a k step: asynchronous copies, or loads into registers
//   store(tile, slot, piece)   at its end: from registers to shared memory
#include "sm80_tile.cuh"
#include "unaligned.cuh"

// The vectors of a piece, per thread.
template <class Tile, i32 VECTOR, i32 THREADS, i32 PIECES>
constexpr i32 VECTORS = (Tile::BYTES / i32(sizeof(typename Tile::Value)) / VECTOR + THREADS * PIECES - 1) /
                        (THREADS * PIECES);
// Calls f(i, row, column) for each of them.
template <class Tile, i32 VECTOR, i32 THREADS, i32 PIECES, class F>
TCC_FN void each_vector(u32 thread, i32 piece, F f) {
  constexpr u32 per_row = Tile::COLUMNS / VECTOR, all = Tile::ROWS * per_row;
  constexpr i32 count = VECTORS<Tile, VECTOR, THREADS, PIECES>;
#pragma unroll
  for (i32 i = 0; i < count; ++i) {
    const u32 first = u32(piece * count + i) * THREADS;
    if (all % (THREADS * PIECES) != 0 && thread + first >= all) continue;
    if (THREADS % per_row == 0)  // the same column in all steps
      f(i, i32(thread / per_row + first / per_row), i32(thread % per_row * VECTOR));
    else
      f(i, i32((thread + first) / per_row), i32((thread + first) % per_row * VECTOR));
  }
}

// Where an element of a tile is in the operand. Side says what is known when the kernel is compiled: `operand`, `sum`,
// `Free` and `K` (Sizes: of its rows or columns, and of k), `block`, `block_k`, `threads`, `pieces`.
template <class Side> struct Place {
  static constexpr bool MAJOR_K = Side::operand.major_k;
  using Tile = SharedTile<Side::operand.element, MAJOR_K, Side::block, Side::block_k>;
  using Value = typename Tile::Value;
  i32 thread, first;  // `first`: row or column of the operand that the workgroup's tile begins at
  i32 batch;
  typename Side::Free size;
  typename Side::K size_k;

  __device__ __forceinline__ i32 free(i32 row, i32 column) const { return first + (MAJOR_K ? row : column); }
  __device__ __forceinline__ static i32 k(i32 tile, i32 row, i32 column) {
    return tile * Side::block_k + (MAJOR_K ? column : row);
  }
  // The hooks' coordinates: vectors are counted along the contiguous axis.
  template <i32 VECTOR> __device__ __forceinline__ u32 free_vector(i32 row, i32 column) const {
    return free(row, column) / (MAJOR_K ? 1u : u32(VECTOR));
  }
  template <i32 VECTOR> __device__ __forceinline__ static u32 k_vector(i32 tile, i32 row, i32 column) {
    return k(tile, row, column) / (MAJOR_K ? u32(VECTOR) : 1u);
  }
};

// The vectors of a tile that a thread copies. Neighbouring lanes have WIDTH neighbours of a row, further ones other rows.
template <class Side> struct CopiedVectors : Place<Side> {
  using P = Place<Side>;
  using typename P::Tile;
  using typename P::Value;
  static constexpr i32 VECTOR = Side::operand.vector;
  static constexpr i32 THREADS = Side::threads, PER_ROW = Tile::COLUMNS / VECTOR, PIECES = Side::pieces;
  static constexpr i32 WIDTH = least(PER_ROW & -PER_ROW, THREADS), ACROSS = PER_ROW / WIDTH, DOWN = THREADS / WIDTH;
  static constexpr i32 COUNT = ceil_div(Tile::ROWS, DOWN) * ACROSS, OF_PIECE = ceil_div(COUNT, PIECES);
  static_assert((THREADS & (THREADS - 1)) == 0, "rows of a thread differ in bits that its first row has not");
  static_assert(WIDTH * VECTOR / Tile::CHUNK % Tile::PERMUTED == 0, "columns of a thread are swizzled alike");
  i32 row, column;  // of the thread's first vector
  u32 shared;       // its place in a slot

  __device__ __forceinline__ CopiedVectors(const P& place)
      : P(place), row(u32(place.thread) / WIDTH), column(u32(place.thread) % WIDTH * VECTOR) {
    shared = Tile::offset(row, column);
  }
  // Calls f(n, down, across, at) for the vectors of a piece: the thread's n-th one, so many rows and columns from its
  // first one, and its place in a slot.
  template <class F> __device__ __forceinline__ void each(i32 piece, F f) const {
#pragma unroll
    for (i32 i = 0; i < OF_PIECE; ++i) {
      const i32 n = piece * OF_PIECE + i, down = n / ACROSS * DOWN, across = n % ACROSS * (WIDTH * VECTOR);
      if (n >= COUNT || (Tile::ROWS % DOWN != 0 && row + down >= Tile::ROWS)) continue;
      f(n, down, across, (shared ^ Tile::swizzle(down) * 16) + down * Tile::ROW_BYTES + across * i32(sizeof(Value)));
    }
  }
};

// cp.async of vectors of a matrix; what lies beyond it is never read and counts as zeros. The hook's offset is a sum of
// multiples of its coordinates, so that a thread computes one address, and the others lie a constant from it.
template <class Side, class Hooks> struct CopiedOperand : CopiedVectors<Side> {
  using P = Place<Side>;
  using Vectors = CopiedVectors<Side>;
  using typename P::Tile;
  using typename P::Value;
  using Vectors::VECTOR;
  const Hooks& hooks;
  i32 left;           // rows of the operand from the thread's first one on, or columns
  const Value* from;  // the first vector, of the tile that is fetched next

  __device__ __forceinline__ CopiedOperand(const P& place, const Hooks& hooks, i32 first_tile)
      : Vectors(place), hooks(hooks) {
    const i32 row = this->row, column = this->column;
    // A shuffle, so that the value stays in a register: others are computed again, from the workgroup's number on, by each
    // copy.
    left = __shfl_sync(0xffffffffu, this->size - this->free(row, column), place.thread % 32);
    from = (const Value*)hooks.buffer + hooks.vector(this->batch, this->template free_vector<VECTOR>(row, column),
                                                     P::template k_vector<VECTOR>(first_tile, row, column));
  }
  // Between vectors so many rows and columns of a tile apart.
  __device__ __forceinline__ i64 distance(i32 rows, i32 columns) const {
    const i32 vectors = columns / VECTOR;
    return hooks.vector(0, P::MAJOR_K ? rows : vectors, P::MAJOR_K ? vectors : rows) - hooks.vector(0, 0, 0);
  }
  // How many elements of the vector so far from the thread's first one are inside the matrix.
  __device__ __forceinline__ i32 elements_inside(i32 tile, i32 down, i32 across) const {
    constexpr bool fills = Side::Free::fills(Side::block), fills_k = Side::K::fills(Side::block_k);
    const i32 left_k = this->size_k - P::k(tile, this->row, this->column);
    const i32 lines = P::MAJOR_K ? left : left_k, elements = (P::MAJOR_K ? left_k : left) - across;
    i32 count = VECTOR;
    if (P::MAJOR_K ? !fills_k : !fills) count = elements < 0 ? 0 : elements < VECTOR ? elements : VECTOR;
    return (P::MAJOR_K ? fills : fills_k) || down < lines ? count : 0;
  }
  // Tiles are fetched in turn: an address that moves on is kept in registers, others would be computed again each time.
  __device__ __forceinline__ void fetch(i32 tile, u32 slot, i32 piece) {
    this->each(piece, [&](i32, i32 down, i32 across, u32 at) {
      const i32 inside = elements_inside(tile, down, across);
      copy_async<VECTOR * sizeof(Value)>(slot + at, from + distance(down, across), inside * i32(sizeof(Value)));
    });
    if (piece == Side::pieces - 1) from += P::MAJOR_K ? distance(0, Side::block_k) : distance(Side::block_k, 0);
  }
  __device__ __forceinline__ void store(i32, unsigned char*, i32) const {}
};

// The same of an image, whose vectors are neighbouring channels of a pixel under a tap. A thread's vectors of a tile have
// one tap, and as the tap changes their numbers move on alike. Their pixels have numbers of their own, and a bit for each
// tap that is in the image, or beyond MASKED taps ask the hook.
template <class Side, class Hooks> struct ImageOperand : CopiedVectors<Side> {
  using P = Place<Side>;
  using Vectors = CopiedVectors<Side>;
  using typename P::Tile;
  using typename P::Value;
  using Vectors::VECTOR;
  using Vectors::COUNT;
  using Number = decltype(static_cast<const Hooks*>(nullptr)->vector(0, 0, 0));
  static constexpr i32 TAPS = Side::taps, K = Side::K::value / VECTOR, OF_TAP = K / TAPS, OF_TILE = Side::block_k / VECTOR;
  static constexpr bool MASKED = TAPS <= 32;
  static_assert(P::MAJOR_K && Vectors::ACROSS == 1 && OF_TAP * TAPS == K, "a thread's vectors have one tap");
  const Hooks& hooks;
  Number numbers[COUNT];  // under the first tap
  u32 taps[COUNT];        // those that are in the image
  i32 k, left;            // of the tile that is fetched next: the vectors' place in k, and how many this tap still has
  Number moved;           // how far their numbers are from those under the first tap
  u32 tap;                // its bit; 0: beyond k

  __device__ __forceinline__ ImageOperand(const P& place, const Hooks& hooks, i32 first_tile)
      : Vectors(place), hooks(hooks), k(P::template k_vector<VECTOR>(first_tile, this->row, this->column)) {
#pragma unroll
    for (i32 n = 0; n < COUNT; ++n) {
      const i32 at = this->first + this->row + n * Vectors::DOWN;
      numbers[n] = hooks.vector(this->batch, at, 0);
      taps[n] = 0;
#pragma unroll
      for (i32 t = 0; MASKED && t < TAPS; ++t) taps[n] |= u32(hooks.inside(this->batch, at, t * OF_TAP)) << t;
      if (!Side::Free::fills(Side::block) && at >= this->size) taps[n] = 0;
    }
    begin_tap();
  }
  __device__ __forceinline__ void begin_tap() {
    const i32 number = quotient(k, OF_TAP);
    left = (number + 1) * OF_TAP - k;
    moved = hooks.vector(0, 0, k) - hooks.vector(0, 0, 0);
    tap = k < K ? 1u << (number % 32) : 0;
  }
  __device__ __forceinline__ bool is_inside(i32 n, i32 down) const {
    if (MASKED) return taps[n] & tap;
    const i32 at = this->first + this->row + down;
    return k < K && (Side::Free::fills(Side::block) || at < this->size) && hooks.inside(this->batch, at, k);
  }
  __device__ __forceinline__ void fetch(i32, u32 slot, i32 piece) {
    this->each(piece, [&](i32 n, i32 down, i32, u32 at) {
      const Value* const from = (const Value*)hooks.buffer + i64(numbers[n] + moved) * VECTOR;
      copy_async<VECTOR * sizeof(Value)>(slot + at, from, is_inside(n, down) ? VECTOR * i32(sizeof(Value)) : 0);
    });
    if (piece != Side::pieces - 1) return;
    k += OF_TILE, left -= OF_TILE, moved += OF_TILE;
    if (left <= 0) begin_tap();
  }
  __device__ __forceinline__ void store(i32, unsigned char*, i32) const {}
};

// Lines of any alignment: aligned 16-byte words are read and shifted, and none that holds nothing of the line.
template <class Side, class Hooks> struct ShiftedOperand : Place<Side> {
  using P = Place<Side>;
  using typename P::Tile;
  using typename P::Value;
  static constexpr i32 CHUNK = Tile::CHUNK;
  const Hooks& hooks;
  Unaligned next[VECTORS<Tile, CHUNK, Side::threads, Side::pieces>];

  __device__ __forceinline__ void fetch(i32 tile, u32, i32 piece) {
    each_vector<Tile, CHUNK, Side::threads, Side::pieces>(this->thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 free = this->free(r, c), k = P::k(tile, r, c);
      const i32 line = P::MAJOR_K ? free : k, column = P::MAJOR_K ? k : free;
      const i32 lines = P::MAJOR_K ? i32(this->size) : i32(this->size_k);
      const i32 columns = P::MAJOR_K ? i32(this->size_k) : i32(this->size);
      next[s] = fetch_unaligned((const Value*)hooks.buffer + hooks.line(this->batch, line), column, columns, line < lines);
    });
  }
  __device__ __forceinline__ void store(i32 tile, unsigned char* slot, i32 piece) const {
    each_vector<Tile, CHUNK, Side::threads, Side::pieces>(this->thread, piece, [&](i32 s, i32 r, i32 c) {
      const i32 left = P::MAJOR_K ? this->size_k - P::k(tile, r, c) : this->size - this->free(r, c);
      u32 w[4];
      shift_unaligned<Value>(next[s], left, w);
      *(uint4*)(slot + Tile::offset(r, c)) = make_uint4(w[0], w[1], w[2], w[3]);
    });
  }
};

// Stores computed elements, rounded to the operands' type, as words as wide as they come; chunks lie apart.
template <Element E, class Tile, i32 VECTOR>
TCC_FN void put(unsigned char* slot, i32 row, i32 column, const f32 (&v)[VECTOR]) {
#pragma unroll
  for (i32 i = 0; i < VECTOR; i += Tile::CHUNK) {
    unsigned char* const at = slot + Tile::offset(row, column + i);
    if constexpr (E == Element::tf32) {
      if constexpr (VECTOR >= 4) {
        *(float4*)at = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
      } else {
#pragma unroll
        for (i32 j = 0; j < VECTOR; ++j) ((f32*)at)[j] = v[j];
      }
    } else if constexpr (VECTOR >= 8) {
      *(uint4*)at = make_uint4(pack_elements<E>(v[i], v[i + 1]), pack_elements<E>(v[i + 2], v[i + 3]),
                               pack_elements<E>(v[i + 4], v[i + 5]), pack_elements<E>(v[i + 6], v[i + 7]));
    } else if constexpr (VECTOR == 4) {
      *(uint2*)at = make_uint2(pack_elements<E>(v[0], v[1]), pack_elements<E>(v[2], v[3]));
    } else if constexpr (VECTOR == 2) {
      *(u32*)at = pack_elements<E>(v[0], v[1]);
    } else {
      *(u16*)at = u16(pack_elements<E>(v[0], 0.0f));
    }
  }
}

// Elements that the load hook computes: index maps, prologues. The hook guards itself.
template <class Side, class Hooks> struct ComputedOperand : Place<Side> {
  using P = Place<Side>;
  using typename P::Tile;
  static constexpr i32 VECTOR = Side::operand.vector;
  const Hooks& hooks;
  f32 next[VECTORS<Tile, VECTOR, Side::threads, Side::pieces>][VECTOR];

  __device__ __forceinline__ void fetch(i32 tile, u32, i32 piece) {
    each_vector<Tile, VECTOR, Side::threads, Side::pieces>(this->thread, piece, [&](i32 s, i32 r, i32 c) {
      hooks.load(this->batch, this->template free_vector<VECTOR>(r, c), P::template k_vector<VECTOR>(tile, r, c), next[s]);
    });
  }
  __device__ __forceinline__ void store(i32, unsigned char* slot, i32 piece) const {
    each_vector<Tile, VECTOR, Side::threads, Side::pieces>(
        this->thread, piece, [&](i32 s, i32 r, i32 c) { put<Side::operand.element, Tile>(slot, r, c, next[s]); });
  }
};

// Pieces of a computed tile: DEPTH neighbours along k of HEIGHT rows, by several loads. Those whose vectors run across
// k become words along k as they are stored. Neighbouring lanes have pieces along k and along the rows, between the
// needs of loads (whole sectors) and of stores (different banks).
template <class Tile, class Acc, i32 VECTOR, bool ALONG_K, i32 THREADS, i32 PIECES>
struct BytePieces {
  static constexpr i32 HEIGHT = ALONG_K ? 1 : VECTOR;
  static constexpr i32 DEPTH = ALONG_K ? (VECTOR < 4 ? 4 : VECTOR) : VECTOR < 4 ? 8 : 4;
  static constexpr i32 LOADS = ALONG_K ? DEPTH / VECTOR : DEPTH;
  static constexpr i32 ACROSS = Tile::ROWS / HEIGHT, ALONG = Tile::COLUMNS / DEPTH;
  static constexpr i32 LOW = ALONG_K ? ALONG : VECTOR == 1 ? 1 : VECTOR == 2 ? 4 : 8;
  static constexpr i32 COUNT = (ACROSS * ALONG + THREADS * PIECES - 1) / (THREADS * PIECES);
  Acc values[COUNT][DEPTH][HEIGHT];

  // Calls f(i, row, column) for each of this thread's in a piece of the tile.
  template <class F>
  static __device__ __forceinline__ void each(i32 thread, i32 piece, F f) {
#pragma unroll
    for (i32 i = 0; i < COUNT; ++i) {
      const i32 n = (piece * COUNT + i) * THREADS + thread;
      if (ACROSS * ALONG % (THREADS * PIECES) != 0 && n >= ACROSS * ALONG) continue;
      f(i, n / LOW % ACROSS * HEIGHT, (n / (LOW * ACROSS) * LOW + n % LOW) * DEPTH);
    }
  }

  // `load`(at, k, v), as the hooks count; the tile begins at (row0, k0).
  template <class LoadHook>
  __device__ __forceinline__ void fetch(i32 thread, i32 piece, i32 row0, i32 k0, LoadHook load) {
    each(thread, piece, [&](i32 i, i32 r, i32 c) {
#pragma unroll
      for (i32 n = 0; n < LOADS; ++n) {
        Acc v[VECTOR];
        if (ALONG_K)
          load(row0 + r, (k0 + c) / VECTOR + n, v);
        else
          load((row0 + r) / VECTOR, k0 + c + n, v);
#pragma unroll
        for (i32 j = 0; j < VECTOR; ++j) (ALONG_K ? values[i][n * VECTOR + j][0] : values[i][n][j]) = v[j];
      }
    });
  }

  __device__ __forceinline__ void store(i32 thread, i32 piece, unsigned char* tile) const {
    each(thread, piece, [&](i32 i, i32 r, i32 c) {
      const Acc(&v)[DEPTH][HEIGHT] = values[i];
      auto word = [&](i32 row, i32 k) {
        return u32(u8(v[k][row])) | u32(u8(v[k + 1][row])) << 8 | u32(u8(v[k + 2][row])) << 16 |
               u32(u8(v[k + 3][row])) << 24;
      };
#pragma unroll
      for (i32 j = 0; j < HEIGHT; ++j) {
        unsigned char* const at = tile + Tile::offset(r + j, c);
        if constexpr (DEPTH == 4)
          *(u32*)at = word(j, 0);
        else if constexpr (DEPTH == 8)
          *(uint2*)at = make_uint2(word(j, 0), word(j, 4));
        else
          *(uint4*)at = make_uint4(word(j, 0), word(j, 4), word(j, 8), word(j, 12));
      }
    });
  }
};

// Bytes that the load hook computes, whose vectors may run across k.
template <class Side, class Hooks> struct ComputedBytes : Place<Side> {
  static constexpr i32 VECTOR = Side::operand.vector;
  using Acc = SumType<Side::sum>;
  const Hooks& hooks;
  BytePieces<typename Place<Side>::Tile, Acc, VECTOR, Side::operand.vector_along_k, Side::threads, Side::pieces> next;

  __device__ __forceinline__ void fetch(i32 tile, u32, i32 piece) {
    next.fetch(this->thread, piece, this->first, tile * Side::block_k,
               [&](i32 at, i32 k, Acc(&v)[VECTOR]) { hooks.load(this->batch, at, k, v); });
  }
  __device__ __forceinline__ void store(i32, unsigned char* slot, i32 piece) const {
    next.store(this->thread, piece, slot);
  }
};

// `first_tile` is the first of k that will be fetched.
template <class Side, class Hooks>
TCC_FN auto operand_at(const Hooks& hooks, i32 thread, i32 first, i32 batch, typename Side::Free size,
                       typename Side::K size_k, i32 first_tile = 0) {
  constexpr Operand X = Side::operand;
  const Place<Side> place{thread, first, batch, size, size_k};
  if constexpr (X.load == Load::tiles)
    return CopiedOperand<Side, Hooks>(place, hooks, first_tile);
  else if constexpr (X.load == Load::im2col)
    return ImageOperand<Side, Hooks>(place, hooks, first_tile);
  else if constexpr (X.load == Load::rows)
    return ShiftedOperand<Side, Hooks>{place, hooks};
  else if constexpr (bytes_of(X.element) == 1)
    return ComputedBytes<Side, Hooks>{place, hooks};
  else
    return ComputedOperand<Side, Hooks>{place, hooks};
}
