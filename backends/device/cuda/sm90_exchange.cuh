// Sums of a tile that the workgroups of a cluster add up together, each for its own part of the columns.
#include "matrix.cuh"
#include "sm90.cuh"

// A warpgroup has SLABS times 64 rows and EIGHTS times 8 columns of sums. The workgroup of rank r adds up and stores
// OWNED eights of columns from r * OWNED on. Lanes send their sums to the same lanes of the workgroup that owns them, where each warp has
// INBOXES inboxes. With two, tiles may follow each other: a sender has the sums of its last tile, which the others sent
// after they had read those of the tile before it.
template <i32 RANKS, i32 SLABS, i32 EIGHTS, i32 OWNED, i32 INBOXES, i32 WARPS> struct Exchange {
  static constexpr i32 RANK_BYTES = SLABS * OWNED * 512, INBOX_BYTES = (RANKS - 1) * RANK_BYTES;
  struct Inboxes {
    u8 bytes[WARPS * INBOXES * INBOX_BYTES];
  };
  struct Barriers {
    u64 arrived[WARPS * INBOXES];  // an inbox has all other ranks' sums
  };

  u32 inboxes, barriers;  // this warp's
  i32 rank, lane;
  u32 number = 0;  // the next exchange's; inboxes take turns
  u32 inbox = 0;   // the latest exchange's

  __device__ __forceinline__ static void init(u32 barriers) {
    for (i32 i = 0; i < INBOXES * WARPS; ++i) barrier_init(barriers + 8 * i, 1);
  }
  __device__ __forceinline__ Exchange(u32 inboxes, u32 barriers, i32 rank, i32 warp, i32 lane)
      : inboxes(inboxes + warp * INBOXES * INBOX_BYTES), barriers(barriers + warp * INBOXES * 8), rank(rank), lane(lane) {}

  // Sends the sums of others' columns, and waits for theirs of this workgroup's.
  template <class Acc, i32 SUMS> __device__ __forceinline__ void run(const Acc (&acc)[SLABS][SUMS]) {
    inbox = inboxes + number % INBOXES * INBOX_BYTES;
    const u32 arrived = barriers + number % INBOXES * 8;
    const i32 owned = min(OWNED, EIGHTS - rank * OWNED);
    if (owned > 0 && lane == 0) barrier_arrive_expect(arrived, (RANKS - 1) * SLABS * owned * 512);
#pragma unroll
    for (i32 owner = 0; owner < RANKS; ++owner) {
      if (owner == rank) continue;
      const u32 to = tcc_cuda_peer(inbox + (rank - (rank > owner)) * RANK_BYTES + lane * 16, owner);
      const u32 its = tcc_cuda_peer(arrived, owner);
#pragma unroll
      for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
        for (i32 e = owner * OWNED; e < owner * OWNED + OWNED && e < EIGHTS; ++e)
          send_async(to + (m * OWNED + e % OWNED) * 512, &acc[m][e * 4], its);
    }
    if (owned > 0) barrier_wait_cluster(arrived, number / INBOXES % 2);
    ++number;
  }
  // Adds what the others sent of slab m and eight e to this lane's four sums.
  template <class Acc> __device__ __forceinline__ void add(Acc (&v)[4], i32 m, i32 e) const {
#pragma unroll
    for (i32 r = 0; r < RANKS - 1; ++r) {
      Acc sent[4];
      load_shared<4>(inbox + ((r * SLABS + m) * OWNED + e % OWNED) * 512 + lane * 16, sent);
#pragma unroll
      for (i32 i = 0; i < 4; ++i) v[i] = add_sums(v[i], sent[i]);
    }
  }
};

// A workgroup that has all of k exchanges nothing.
template <i32 SLABS, i32 EIGHTS, i32 OWNED, i32 INBOXES, i32 WARPS>
struct Exchange<1, SLABS, EIGHTS, OWNED, INBOXES, WARPS> {
  struct Inboxes {};
  struct Barriers {};
  __device__ __forceinline__ static void init(u32) {}
  __device__ __forceinline__ Exchange(u32, u32, i32, i32, i32) {}
  template <class Sums> __device__ __forceinline__ void run(const Sums&) {}
  template <class Acc> __device__ __forceinline__ void add(Acc (&)[4], i32, i32) const {}
};
