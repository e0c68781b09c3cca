// A ring of tiles in shared memory between warps that load and warps that multiply.
#include "sm90.cuh"

// STAGES stages of STAGE_BYTES, each with two barriers: `full` ends a phase when the stage holds its tiles, `empty` when
// all who read the stage are done. A kernel may put barriers of its own between them: those who multiply then wait for
// these in place of `full`. Each side keeps its own position; `phase` is the parity of the rounds it made.
template <i32 STAGES, i32 STAGE_BYTES> struct Pipeline {
  struct Tiles {
    u8 bytes[STAGES * STAGE_BYTES];
  };
  struct Barriers {
    u64 full[STAGES], empty[STAGES];
  };

  u32 tiles, full, empty;  // addresses of both
  u32 stage = 0, phase = 0;

  __device__ __forceinline__ Pipeline(u32 tiles, u32 barriers)
      : tiles(tiles), full(barriers), empty(barriers + sizeof(Barriers::full)) {}

  // By one thread: how many arrivals end a phase.
  __device__ __forceinline__ void init(i32 producers, i32 consumers) const {
    for (i32 s = 0; s < STAGES; ++s) {
      barrier_init(full + 8 * s, producers);
      barrier_init(empty + 8 * s, consumers);
    }
  }

  __device__ __forceinline__ u32 tile() const { return tiles + stage * STAGE_BYTES; }
  __device__ __forceinline__ u32 full_barrier() const { return full + 8 * stage; }
  __device__ __forceinline__ void wait_until_full() const { barrier_wait(full + 8 * stage, phase); }
  __device__ __forceinline__ void wait_until_empty() const { barrier_wait(empty + 8 * stage, phase ^ 1); }
  __device__ __forceinline__ void advance(u32 steps) {
    const u32 at = stage + steps;
    stage = at % STAGES;
    phase ^= at / STAGES & 1;
  }
};

// How a warp says that it has read a stage: to this workgroup, or to all PEERS whose loads fill it. Lane n < PEERS tells
// the workgroup of rank `peer`.
template <i32 PEERS> struct Release {
  u32 empty;
  i32 lane;

  __device__ __forceinline__ Release(u32 empty, i32 lane, i32 peer)
      : empty(PEERS > 1 ? tcc_cuda_peer(empty, peer) : empty), lane(lane) {}
  __device__ __forceinline__ void operator()(u32 stage) const {
    if (PEERS > 1 && lane < PEERS) barrier_arrive_peer(empty + 8 * stage);
    if (PEERS == 1 && lane == 0) barrier_arrive(empty + 8 * stage);
  }
};
