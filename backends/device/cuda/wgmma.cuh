// Products of a warpgroup (wgmma) whose operands both lie in shared memory.
#include "matrix.cuh"

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
// The distance of two k steps of a tile, each as much of k as one instruction takes, as a descriptor counts.
TCC_FN constexpr u32 wgmma_step(bool k_major) { return (k_major ? 32 : 2048) >> 4; }
// The same from the first step to the n-th. Rows is WholeRows, or says that a K-major tile has parts with so many bytes of
// each of its rows, one after the other.
struct WholeRows {
  static constexpr i32 bytes = 128, rows = 0;
};
template <class Rows> TCC_FN constexpr u32 wgmma_step(i32 n, bool k_major) {
  if (Rows::bytes == 128) return n * wgmma_step(k_major);
  return u32(n * 32 / Rows::bytes * (Rows::rows * Rows::bytes) + n * 32 % Rows::bytes) >> 4;
}

// The high halves of the descriptors of both operands, of which a kernel may define others: rows of 64 bytes with their
// swizzle are 0x80000020, of 32 bytes 0xc0000010.
#ifndef WGMMA_HIGH_A
#define WGMMA_HIGH_A 0x40000040
#endif
#ifndef WGMMA_HIGH_B
#define WGMMA_HIGH_B 0x40000040
#endif
#define WGMMA_TEXT_OF(x) #x
#define WGMMA_TEXT(x) WGMMA_TEXT_OF(x)

// Operands of asm are numbered by position, so that an instruction's text depends on the number of columns: COLUMNS_n
// lists n / 2 accumulators by FIRST (four of them) and NEXT (four more), and hands the five numbers after them to LAST.
#define WGMMA_NONE(a, b, c, d)
#define WGMMA_NO_INPUTS(a, b, c, t, u)
#define WGMMA_PREPARE(a, b, c, t, u) \
  "mov.b64 a, {%" #a ", " WGMMA_TEXT(WGMMA_HIGH_A) "};\nmov.b64 b, {%" #b ", " WGMMA_TEXT(WGMMA_HIGH_B)             \
  "};\nsetp.ne.b32 p, %" #c ", 0;\n"
#define WGMMA_FIRST(a, b, c, d) "%" #a ", %" #b ", %" #c ", %" #d
#define WGMMA_NEXT(a, b, c, d) ", %" #a ", %" #b ", %" #c ", %" #d
#define WGMMA_PLAIN(a, b, c, t, u) "}, a, b, p;\n}"                             // integers: no modes
#define WGMMA_SIGNS(a, b, c, t, u) "}, a, b, p, 1, 1;\n}"                       // both operands as they are
#define WGMMA_TRANSPOSES(a, b, c, t, u) "}, a, b, p, 1, 1, %" #t ", %" #u ";\n}"  // and transposed where MN-major
#define WGMMA_FIRST_FLOATS(a, b, e, f) "+f"(d[a]), "+f"(d[b]), "+f"(d[e]), "+f"(d[f])
#define WGMMA_NEXT_FLOATS(a, b, e, f) , WGMMA_FIRST_FLOATS(a, b, e, f)
#define WGMMA_FIRST_INTEGERS(a, b, e, f) "+r"(d[a]), "+r"(d[b]), "+r"(d[e]), "+r"(d[f])
#define WGMMA_NEXT_INTEGERS(a, b, e, f) , WGMMA_FIRST_INTEGERS(a, b, e, f)
#define COLUMNS_8(FIRST, NEXT, LAST) FIRST(0, 1, 2, 3) LAST(4, 5, 6, 7, 8)
#define COLUMNS_16(FIRST, NEXT, LAST) COLUMNS_8(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(4, 5, 6, 7) LAST(8, 9, 10, 11, 12)
#define COLUMNS_24(FIRST, NEXT, LAST) COLUMNS_16(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(8, 9, 10, 11) LAST(12, 13, 14, 15, 16)
#define COLUMNS_32(FIRST, NEXT, LAST) COLUMNS_24(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(12, 13, 14, 15) LAST(16, 17, 18, 19, 20)
#define COLUMNS_40(FIRST, NEXT, LAST) COLUMNS_32(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(16, 17, 18, 19) LAST(20, 21, 22, 23, 24)
#define COLUMNS_48(FIRST, NEXT, LAST) COLUMNS_40(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(20, 21, 22, 23) LAST(24, 25, 26, 27, 28)
#define COLUMNS_56(FIRST, NEXT, LAST) COLUMNS_48(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(24, 25, 26, 27) LAST(28, 29, 30, 31, 32)
#define COLUMNS_64(FIRST, NEXT, LAST) COLUMNS_56(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(28, 29, 30, 31) LAST(32, 33, 34, 35, 36)
#define COLUMNS_72(FIRST, NEXT, LAST) COLUMNS_64(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(32, 33, 34, 35) LAST(36, 37, 38, 39, 40)
#define COLUMNS_80(FIRST, NEXT, LAST) COLUMNS_72(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(36, 37, 38, 39) LAST(40, 41, 42, 43, 44)
#define COLUMNS_88(FIRST, NEXT, LAST) COLUMNS_80(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(40, 41, 42, 43) LAST(44, 45, 46, 47, 48)
#define COLUMNS_96(FIRST, NEXT, LAST) COLUMNS_88(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(44, 45, 46, 47) LAST(48, 49, 50, 51, 52)
#define COLUMNS_104(FIRST, NEXT, LAST) COLUMNS_96(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(48, 49, 50, 51) LAST(52, 53, 54, 55, 56)
#define COLUMNS_112(FIRST, NEXT, LAST) COLUMNS_104(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(52, 53, 54, 55) LAST(56, 57, 58, 59, 60)
#define COLUMNS_120(FIRST, NEXT, LAST) COLUMNS_112(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(56, 57, 58, 59) LAST(60, 61, 62, 63, 64)
#define COLUMNS_128(FIRST, NEXT, LAST) COLUMNS_120(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(60, 61, 62, 63) LAST(64, 65, 66, 67, 68)
#define COLUMNS_136(FIRST, NEXT, LAST) COLUMNS_128(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(64, 65, 66, 67) LAST(68, 69, 70, 71, 72)
#define COLUMNS_144(FIRST, NEXT, LAST) COLUMNS_136(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(68, 69, 70, 71) LAST(72, 73, 74, 75, 76)
#define COLUMNS_152(FIRST, NEXT, LAST) COLUMNS_144(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(72, 73, 74, 75) LAST(76, 77, 78, 79, 80)
#define COLUMNS_160(FIRST, NEXT, LAST) COLUMNS_152(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(76, 77, 78, 79) LAST(80, 81, 82, 83, 84)
#define COLUMNS_168(FIRST, NEXT, LAST) COLUMNS_160(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(80, 81, 82, 83) LAST(84, 85, 86, 87, 88)
#define COLUMNS_176(FIRST, NEXT, LAST) COLUMNS_168(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(84, 85, 86, 87) LAST(88, 89, 90, 91, 92)
#define COLUMNS_184(FIRST, NEXT, LAST) COLUMNS_176(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(88, 89, 90, 91) LAST(92, 93, 94, 95, 96)
#define COLUMNS_192(FIRST, NEXT, LAST) COLUMNS_184(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(92, 93, 94, 95) LAST(96, 97, 98, 99, 100)
#define COLUMNS_200(FIRST, NEXT, LAST) COLUMNS_192(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(96, 97, 98, 99) LAST(100, 101, 102, 103, 104)
#define COLUMNS_208(FIRST, NEXT, LAST) COLUMNS_200(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(100, 101, 102, 103) LAST(104, 105, 106, 107, 108)
#define COLUMNS_216(FIRST, NEXT, LAST) COLUMNS_208(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(104, 105, 106, 107) LAST(108, 109, 110, 111, 112)
#define COLUMNS_224(FIRST, NEXT, LAST) COLUMNS_216(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(108, 109, 110, 111) LAST(112, 113, 114, 115, 116)
#define COLUMNS_232(FIRST, NEXT, LAST) COLUMNS_224(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(112, 113, 114, 115) LAST(116, 117, 118, 119, 120)
#define COLUMNS_240(FIRST, NEXT, LAST) COLUMNS_232(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(116, 117, 118, 119) LAST(120, 121, 122, 123, 124)
#define COLUMNS_248(FIRST, NEXT, LAST) COLUMNS_240(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(120, 121, 122, 123) LAST(124, 125, 126, 127, 128)
#define COLUMNS_256(FIRST, NEXT, LAST) COLUMNS_248(FIRST, NEXT, WGMMA_NO_INPUTS) NEXT(124, 125, 126, 127) LAST(128, 129, 130, 131, 132)

// A kernel expands WGMMA_COLUMNS(n) for each number of columns that it multiplies at once, since the compiler takes long
// to read the text of all. Then
// WgmmaColumns<n>::multiply(d, a, b, accumulate): d += a b (or d = a b) for 64 rows and n columns, where a and b
// describe tiles.
// A and B are of one kind: bf16, f16, tf32, any two of 8-bit integers, or any two of f8. Only 16-bit operands may be
// MN-major.
template <i32 COLUMNS> struct WgmmaColumns;
#define WGMMA_BRANCH(columns, element_a, element_b, shape_and_types, MODES, KIND, ...)                                \
  if constexpr (A == Element::element_a && B == Element::element_b)                                                   \
    asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n" COLUMNS_##columns(WGMMA_NONE, WGMMA_NONE, WGMMA_PREPARE)       \
                 "wgmma.mma_async.sync.aligned.m64n" #columns shape_and_types                                         \
                 " {" COLUMNS_##columns(WGMMA_FIRST, WGMMA_NEXT, MODES)                                               \
                 : COLUMNS_##columns(WGMMA_FIRST_##KIND, WGMMA_NEXT_##KIND, WGMMA_NO_INPUTS)                          \
                 : "r"(a), "r"(b), "r"(accumulate)__VA_ARGS__);
#define WGMMA_COLUMNS(columns)                                                                                        \
  template <> struct WgmmaColumns<columns> {                                                                          \
    template <Element A, Element B, bool TRANSPOSE_A, bool TRANSPOSE_B, class T>                                      \
    __device__ __forceinline__ static void multiply(T (&d)[columns / 2], u32 a, u32 b, i32 accumulate) {              \
      WGMMA_BRANCH(columns, bf16, bf16, "k16.f32.bf16.bf16", WGMMA_TRANSPOSES, FLOATS, , "n"(i32(TRANSPOSE_A)),       \
                   "n"(i32(TRANSPOSE_B)))                                                                             \
      WGMMA_BRANCH(columns, f16, f16, "k16.f32.f16.f16", WGMMA_TRANSPOSES, FLOATS, , "n"(i32(TRANSPOSE_A)),           \
                   "n"(i32(TRANSPOSE_B)))                                                                             \
      WGMMA_BRANCH(columns, tf32, tf32, "k8.f32.tf32.tf32", WGMMA_SIGNS, FLOATS, )                                    \
      WGMMA_BRANCH(columns, i8, i8, "k32.s32.s8.s8", WGMMA_PLAIN, INTEGERS, )                                         \
      WGMMA_BRANCH(columns, i8, u8, "k32.s32.s8.u8", WGMMA_PLAIN, INTEGERS, )                                         \
      WGMMA_BRANCH(columns, u8, i8, "k32.s32.u8.s8", WGMMA_PLAIN, INTEGERS, )                                         \
      WGMMA_BRANCH(columns, u8, u8, "k32.s32.u8.u8", WGMMA_PLAIN, INTEGERS, )                                         \
      WGMMA_BRANCH(columns, e4m3, e4m3, "k32.f32.e4m3.e4m3", WGMMA_SIGNS, FLOATS, )                                   \
      WGMMA_BRANCH(columns, e4m3, e5m2, "k32.f32.e4m3.e5m2", WGMMA_SIGNS, FLOATS, )                                   \
      WGMMA_BRANCH(columns, e5m2, e4m3, "k32.f32.e5m2.e4m3", WGMMA_SIGNS, FLOATS, )                                   \
      WGMMA_BRANCH(columns, e5m2, e5m2, "k32.f32.e5m2.e5m2", WGMMA_SIGNS, FLOATS, )                                   \
    }                                                                                                                 \
  };

// The matrix unit as main loops see it.
template <Element A, Element B, bool A_MAJOR_K, bool B_MAJOR_K, Sum SUM, i32 COLUMNS_, class ROWS_A = WholeRows,
          class ROWS_B = WholeRows>
struct Wgmma {
  using Acc = SumType<SUM>;
  static constexpr i32 COLUMNS = COLUMNS_, SUMS = COLUMNS / 2;  // accumulators of a thread
  static constexpr bool a_major_k = A_MAJOR_K, b_major_k = B_MAJOR_K;
  // A description grows by these for a k step, and for the m-th 64 rows of A.
  __device__ __forceinline__ static constexpr u32 step_a(i32 step) { return wgmma_step<ROWS_A>(step, A_MAJOR_K); }
  __device__ __forceinline__ static constexpr u32 step_b(i32 step) { return wgmma_step<ROWS_B>(step, B_MAJOR_K); }
  __device__ __forceinline__ static constexpr u32 slab_a(i32 m) { return m * 64 * ROWS_A::bytes >> 4; }
  // Describe the tiles at addresses of shared memory.
  __device__ __forceinline__ static u32 describe_a(u32 address) { return wgmma_tile(address, A_MAJOR_K); }
  __device__ __forceinline__ static u32 describe_b(u32 address) { return wgmma_tile(address, B_MAJOR_K); }
  __device__ __forceinline__ static void multiply(Acc (&d)[SUMS], u32 a, u32 b, i32 accumulate) {
    WgmmaColumns<COLUMNS>::template multiply<A, B, !A_MAJOR_K, !B_MAJOR_K>(d, a, b, accumulate);
  }
  // Stages four of a lane's sums: those of eight number `eight` of columns.
  template <class Staged> __device__ __forceinline__ static void stage(u32 storage, i32 lane, i32 eight, const Acc (&v)[4]) {
    Staged::store(storage, lane / 4, eight * 8 + lane % 4 * 2, v[0], v[1]);
    Staged::store(storage, lane / 4 + 8, eight * 8 + lane % 4 * 2, v[2], v[3]);
  }
  // After it the compiler knows that a product has written the accumulator.
  __device__ __forceinline__ static void settle(Acc& sum) {
    if constexpr (SUM == Sum::f32)
      asm volatile("" : "+f"(sum)::"memory");
    else
      asm volatile("" : "+r"(sum)::"memory");
  }
};
