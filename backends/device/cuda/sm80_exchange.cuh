// Workgroups that share the k of a tile: each multiplies a part of k and stores its sums to scratch memory, and then they
// share the tile. Sums are added in the order of the parts, whoever adds them.
#include "mma.cuh"

// An operand's tiles of k from `first` on.
template <class Operand> struct FromTile {
  using Tile = typename Operand::Tile;
  Operand& operand;
  i32 first;

  __device__ __forceinline__ void fetch(i32 tile, u32 slot, i32 piece) { operand.fetch(first + tile, slot, piece); }
  __device__ __forceinline__ void store(i32 tile, unsigned char* slot, i32 piece) const {
    operand.store(first + tile, slot, piece);
  }
};

// A word for each tile, zero before the launch. Its low half counts the parts whose sums are stored; a bit of its high half
// says that a workgroup adds up that share of the tile. A workgroup stores its sums, meets at its barrier and arrives
// (release); who reads the full count (acquire) and meets at its barrier sees the sums of all parts.
TCC_FN u32 count_arrival(u32* word) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(word) : "memory");
  return before % 65536 + 1;
}
TCC_FN u32 count_of_arrivals(const u32* word) {
  u32 now;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
  return now % 65536;
}
// Takes shares, and returns those that nobody had taken before.
TCC_FN u32 take_shares(u32* word, u32 shares) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(shares << 16) : "memory");
  return shares & ~(before >> 16);
}

// The sums of a tile of LINES x COLUMNS, in segments of SEGMENT, which PARTS workgroups of THREADS make at most.
template <class Acc, i32 LINES, i32 COLUMNS, i32 SEGMENT, i32 PARTS, i32 THREADS> struct SharedTileSums {
  static constexpr i32 SEGMENTS = LINES * COLUMNS / SEGMENT, IN_LINE = COLUMNS / SEGMENT;
  static constexpr i32 WIDTH = SEGMENT < 4 ? SEGMENT : 4;  // sums of one access
  static constexpr i32 TRIES = 64;                         // loads of the count while others are on their way
  struct alignas(WIDTH * 4) Few {
    Acc v[WIDTH];
  };
  static_assert(PARTS <= 16, "shares are bits of half a word");

  Few* sums;    // those of one part behind those of another
  u32* word;
  i32 parts;

  // The halves of segments lie apart, so that neighbouring lanes access neighbouring words.
  __device__ __forceinline__ Few* at(i32 part, i32 segment, i32 i) const {
    return sums + part * (LINES * COLUMNS / WIDTH) + i / WIDTH * SEGMENTS + segment;
  }
  __device__ __forceinline__ void put(i32 part, i32 line, i32 column, const Acc (&v)[SEGMENT]) const {
#pragma unroll
    for (i32 i = 0; i < SEGMENT; i += WIDTH) {
      Few few;
#pragma unroll
      for (i32 w = 0; w < WIDTH; ++w) few.v[w] = v[i + w];
      *at(part, line * IN_LINE + column / SEGMENT, i) = few;
    }
  }

  // Stores a share of the tile by store(line, column, sums).
  template <class Store> __device__ __forceinline__ void add_share(i32 share, i32 thread, const Store& store) const {
    constexpr i32 AT_ONCE = PARTS < 4 ? PARTS : 4;  // loads on their way
    const i32 end = SEGMENTS * (share + 1) / parts;
#pragma unroll 1
    for (i32 n = SEGMENTS * share / parts + thread; n < end; n += THREADS) {
      Acc sum[SEGMENT];
#pragma unroll 1
      for (i32 part = 0; part < parts; part += AT_ONCE) {
        Few few[AT_ONCE][SEGMENT / WIDTH];
#pragma unroll
        for (i32 p = 0; p < AT_ONCE; ++p)
#pragma unroll
          for (i32 i = 0; i < SEGMENT; i += WIDTH)
            if (part + p < parts) few[p][i / WIDTH] = *at(part + p, n, i);
#pragma unroll
        for (i32 p = 0; p < AT_ONCE; ++p)
#pragma unroll
          for (i32 i = 0; i < SEGMENT; ++i) {
            const Acc v = few[p][i / WIDTH].v[i % WIDTH];
            if (part + p == 0)
              sum[i] = v;
            else if (part + p < parts)
              sum[i] = add_sums(sum[i], v);
          }
      }
      store(n / IN_LINE, n % IN_LINE * SEGMENT, sum);
    }
  }

  // Called when the sums of `part` are stored. A workgroup waits for the others to add up its share of the tile, but not for
  // long, since they may have found no place yet: the last one to arrive adds up what nobody has taken. `shared` is a word of
  // shared memory that nobody uses.
  template <class Store>
  __device__ __forceinline__ void run(i32 part, i32 thread, u32* shared, const Store& store) const {
    __syncthreads();
    const u32 own = 1u << part, all = (1u << parts) - 1;
    if (thread == 0) {
      u32 count = count_arrival(word);
      const bool last = count == u32(parts);
      for (i32 n = 0; n < TRIES && count != u32(parts); ++n) count = count_of_arrivals(word);
      *shared = last ? all : count == u32(parts) ? take_shares(word, own) : 0;
    }
    __syncthreads();
    const u32 mine = *shared;
    // The last one takes those of others behind its own, when the others have had time to.
    if (mine & own) add_share(part, thread, store);
    if (mine == own || mine == 0) return;
    __syncthreads();
    if (thread == 0) *shared = take_shares(word, all & ~own);
    __syncthreads();
    const u32 left = *shared;
#pragma unroll 1
    for (i32 share = 0; share < parts; ++share)
      if (left >> share & 1) add_share(share, thread, store);
  }
};
