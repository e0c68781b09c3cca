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

// ---- wgmma

TCC_FN void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TCC_FN void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <i32 PENDING> TCC_FN void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Describes a tile with 128-byte swizzle, 1024-byte aligned, to wgmma: the low half of a descriptor, in which 16 bytes
// count as 1. K-major: rows of 128 bytes; MN-major: 64 elements wide, the next 64 follow after 8192 bytes. Both: eight
// rows are 1024 bytes (the high half).
// In a cluster an address holds the workgroup's rank above the 18 bits that a descriptor takes.
TCC_FN u32 wgmma_tile(u32 address, bool k_major) {
  return (address & 0x3ffff) >> 4 | u32(k_major ? 1 : 8192 >> 4) << 16;
}

// wgmma(d, a, b, accumulate): d += a b (or d = a b) for 64 rows and BLOCK_N columns; a source that defines BLOCK_N,
// ACC (of accumulators) and ACC_REGISTER ("+f" or "+r") expands WGMMA_FUNCTION with the instruction's shape and types,
// and its modes: signs, and for 16 bits which operands are transposed. Operands of asm are numbered by position, so the
// text depends on the number of columns: COLUMNS_n lists n / 2 accumulators by FIRST (four of them) and NEXT (four
// more), and hands the three numbers after them to LAST.
#define WGMMA_FUNCTION(columns, shape_and_types, modes) WGMMA_FUNCTION_(columns, shape_and_types, modes)
#define WGMMA_FUNCTION_(columns, shape_and_types, modes)                                                             \
  TCC_FN void wgmma(ACC (&d)[columns / 2], u32 a, u32 b, i32 accumulate) {                                           \
    asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n" COLUMNS_##columns(WGMMA_NONE, WGMMA_NONE, WGMMA_PREPARE)                       \
                 "wgmma.mma_async.sync.aligned.m64n" #columns shape_and_types                                        \
                 " {" COLUMNS_##columns(WGMMA_FIRST, WGMMA_NEXT, WGMMA_INPUTS) modes ";\n}"                          \
                 : COLUMNS_##columns(WGMMA_FIRST_OPERAND, WGMMA_NEXT_OPERAND, WGMMA_NO_INPUTS)                       \
                 : "r"(a), "r"(b), "r"(accumulate));                                                                 \
  }
#define WGMMA_NONE(a, b, c, d)
#define WGMMA_NO_INPUTS(a, b, c)
#define WGMMA_PREPARE(a, b, c) \
  "mov.b64 a, {%" #a ", 0x40000040};\nmov.b64 b, {%" #b ", 0x40000040};\nsetp.ne.b32 p, %" #c ", 0;\n"
#define WGMMA_FIRST(a, b, c, d) "%" #a ", %" #b ", %" #c ", %" #d
#define WGMMA_NEXT(a, b, c, d) ", %" #a ", %" #b ", %" #c ", %" #d
#define WGMMA_INPUTS(a, b, c) "}, a, b, p"
#define WGMMA_FIRST_OPERAND(a, b, e, f) ACC_REGISTER(d[a]), ACC_REGISTER(d[b]), ACC_REGISTER(d[e]), ACC_REGISTER(d[f])
#define WGMMA_NEXT_OPERAND(a, b, e, f) , WGMMA_FIRST_OPERAND(a, b, e, f)
#define COLUMNS_8(FIRST, NEXT, LAST) FIRST(0, 1, 2, 3) LAST(4, 5, 6)
#define COLUMNS_16(FIRST, NEXT, LAST) COLUMNS_8(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(4, 5, 6, 7) LAST(8, 9, 10)
#define COLUMNS_24(FIRST, NEXT, LAST) COLUMNS_16(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(8, 9, 10, 11) LAST(12, 13, 14)
#define COLUMNS_32(FIRST, NEXT, LAST) COLUMNS_24(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(12, 13, 14, 15) LAST(16, 17, 18)
#define COLUMNS_40(FIRST, NEXT, LAST) COLUMNS_32(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(16, 17, 18, 19) LAST(20, 21, 22)
#define COLUMNS_48(FIRST, NEXT, LAST) COLUMNS_40(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(20, 21, 22, 23) LAST(24, 25, 26)
#define COLUMNS_56(FIRST, NEXT, LAST) COLUMNS_48(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(24, 25, 26, 27) LAST(28, 29, 30)
#define COLUMNS_64(FIRST, NEXT, LAST) COLUMNS_56(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(28, 29, 30, 31) LAST(32, 33, 34)
#define COLUMNS_72(FIRST, NEXT, LAST) COLUMNS_64(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(32, 33, 34, 35) LAST(36, 37, 38)
#define COLUMNS_80(FIRST, NEXT, LAST) COLUMNS_72(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(36, 37, 38, 39) LAST(40, 41, 42)
#define COLUMNS_88(FIRST, NEXT, LAST) COLUMNS_80(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(40, 41, 42, 43) LAST(44, 45, 46)
#define COLUMNS_96(FIRST, NEXT, LAST) COLUMNS_88(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(44, 45, 46, 47) LAST(48, 49, 50)
#define COLUMNS_104(FIRST, NEXT, LAST) COLUMNS_96(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(48, 49, 50, 51) LAST(52, 53, 54)
#define COLUMNS_112(FIRST, NEXT, LAST) COLUMNS_104(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(52, 53, 54, 55) LAST(56, 57, 58)
#define COLUMNS_120(FIRST, NEXT, LAST) COLUMNS_112(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(56, 57, 58, 59) LAST(60, 61, 62)
#define COLUMNS_128(FIRST, NEXT, LAST) COLUMNS_120(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(60, 61, 62, 63) LAST(64, 65, 66)
#define COLUMNS_136(FIRST, NEXT, LAST) COLUMNS_128(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(64, 65, 66, 67) LAST(68, 69, 70)
#define COLUMNS_144(FIRST, NEXT, LAST) COLUMNS_136(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(68, 69, 70, 71) LAST(72, 73, 74)
#define COLUMNS_152(FIRST, NEXT, LAST) COLUMNS_144(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(72, 73, 74, 75) LAST(76, 77, 78)
#define COLUMNS_160(FIRST, NEXT, LAST) COLUMNS_152(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(76, 77, 78, 79) LAST(80, 81, 82)
#define COLUMNS_168(FIRST, NEXT, LAST) COLUMNS_160(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(80, 81, 82, 83) LAST(84, 85, 86)
#define COLUMNS_176(FIRST, NEXT, LAST) COLUMNS_168(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(84, 85, 86, 87) LAST(88, 89, 90)
#define COLUMNS_184(FIRST, NEXT, LAST) COLUMNS_176(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(88, 89, 90, 91) LAST(92, 93, 94)
#define COLUMNS_192(FIRST, NEXT, LAST) COLUMNS_184(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(92, 93, 94, 95) LAST(96, 97, 98)
#define COLUMNS_200(FIRST, NEXT, LAST) COLUMNS_192(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(96, 97, 98, 99) LAST(100, 101, 102)
#define COLUMNS_208(FIRST, NEXT, LAST) COLUMNS_200(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(100, 101, 102, 103) LAST(104, 105, 106)
#define COLUMNS_216(FIRST, NEXT, LAST) COLUMNS_208(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(104, 105, 106, 107) LAST(108, 109, 110)
#define COLUMNS_224(FIRST, NEXT, LAST) COLUMNS_216(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(108, 109, 110, 111) LAST(112, 113, 114)
#define COLUMNS_232(FIRST, NEXT, LAST) COLUMNS_224(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(112, 113, 114, 115) LAST(116, 117, 118)
#define COLUMNS_240(FIRST, NEXT, LAST) COLUMNS_232(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(116, 117, 118, 119) LAST(120, 121, 122)
#define COLUMNS_248(FIRST, NEXT, LAST) COLUMNS_240(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(120, 121, 122, 123) LAST(124, 125, 126)
#define COLUMNS_256(FIRST, NEXT, LAST) COLUMNS_248(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(124, 125, 126, 127) LAST(128, 129, 130)
