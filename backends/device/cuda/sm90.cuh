// Building blocks for sm_90a: barriers in shared memory, bulk tensor copies (TMA), warpgroup matrix
// products (wgmma), clusters. PTX by name, after the prelude alone. Addresses of shared memory are
// 32-bit; those of this workgroup are valid in its cluster, too.

// A tensor map, as the driver encodes it; a kernel's parameter, `const __grid_constant__`.
struct alignas(64) TensorMap {
  u64 words[16];
};

struct Uint4 {
  u32 x, y, z, w;
};

TCC_FN void store_shared(u32 address, u32 a) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(a) : "memory");
}
TCC_FN void store_shared(u32 address, u16 a) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(a) : "memory");
}
TCC_FN void store_shared(u32 address, Uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
// Accumulators: two are stored; up to four are loaded; four are sent to a peer's shared memory, their bytes count for its
// barrier.
#define SHARED_ACCUMULATORS(T, R)                                                                                    \
  TCC_FN void store_shared(u32 address, T a, T b) {                                                                  \
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), R(a), R(b) : "memory");                          \
  }                                                                                                                  \
  template <i32 COUNT> TCC_FN void load_shared(u32 address, T* v) {                                                    \
    if constexpr (COUNT == 1)                                                                                        \
      asm volatile("ld.shared.b32 %0, [%1];" : "=" R(v[0]) : "r"(address) : "memory");                               \
    else if constexpr (COUNT == 2)                                                                                   \
      asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=" R(v[0]), "=" R(v[1]) : "r"(address) : "memory");         \
    else                                                                                                             \
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"                                                        \
                   : "=" R(v[0]), "=" R(v[1]), "=" R(v[2]), "=" R(v[3]) : "r"(address) : "memory");                  \
  }                                                                                                                  \
  TCC_FN void send_async(u32 to, const T* v, u32 barrier) {                                                            \
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"   \
                 ::"r"(to), R(v[0]), R(v[1]), R(v[2]), R(v[3]), "r"(barrier) : "memory");                            \
  }
SHARED_ACCUMULATORS(f32, "f")
SHARED_ACCUMULATORS(i32, "r")
SHARED_ACCUMULATORS(u32, "r")
#undef SHARED_ACCUMULATORS

// ---- mbarrier: a phase ends when `count` arrivals and all announced bytes have come; waiting names the phase's parity.

TCC_FN void barrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
TCC_FN void barrier_init_done() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
TCC_FN void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// True in one lane of a whole warp, which the compiler knows.
TCC_FN bool elect_lane() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}
// Arrives and announces bytes that bulk copies will bring in this phase.
TCC_FN void barrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Arrives at the barrier of a peer (tcc_cuda_peer): a stage has been read. Orders no stores.
TCC_FN void barrier_arrive_peer(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
TCC_FN void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
TCC_FN void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}
TCC_FN void barrier_wait_cluster(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

TCC_FN void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
TCC_FN void named_barrier_sync(i32 id, i32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
TCC_FN void named_barrier_arrive(i32 id, i32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Registers of each thread of the calling warpgroup, of the pool that the launch bounds gave the workgroup.
template <i32 COUNT> TCC_FN void shrink_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <i32 COUNT> TCC_FN void grow_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }

// Ordinary stores to shared memory before it are seen by wgmma and bulk copies that start later.
TCC_FN void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- TMA

// One box of a tensor map at (x, y, z...) into shared memory; its bytes count for `barrier`. With MULTICAST, to the
// same places in all workgroups of the cluster that `mask` names.
template <i32 RANK, bool MULTICAST>
TCC_FN void tma_load(u32 to, const TensorMap& map, u32 barrier, u16 mask, i32 x, i32 y, const i32 (&z)[3]) {
#define TMA_LOAD(rank, at)                                                                                           \
  if constexpr (RANK == rank && MULTICAST)                                                                           \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"               \
                 ".multicast::cluster [%0], [%1, " at "], [%2], %3;"                                                 \
                 ::"r"(to), "l"(&map), "r"(barrier), "h"(mask), "r"(x), "r"(y), "r"(z[0]), "r"(z[1]), "r"(z[2])      \
                 : "memory");                                                                                        \
  if constexpr (RANK == rank && !MULTICAST)                                                                          \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"               \
                 " [%0], [%1, " at "], [%2];"                                                                        \
                 ::"r"(to), "l"(&map), "r"(barrier), "h"(mask), "r"(x), "r"(y), "r"(z[0]), "r"(z[1]), "r"(z[2])      \
                 : "memory");
  TMA_LOAD(2, "{%4, %5}")
  TMA_LOAD(3, "{%4, %5, %6}")
  TMA_LOAD(4, "{%4, %5, %6, %7}")
  TMA_LOAD(5, "{%4, %5, %6, %7, %8}")
#undef TMA_LOAD
}
