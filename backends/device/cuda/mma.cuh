// Building blocks for sm_80 and later: copies that threads issue and do not wait for (cp.async), fragments from shared
// memory (ldmatrix), products of a warp (mma.sync).
#include "matrix.cuh"

// Copies BYTES to shared memory, the last BYTES - `inside` of them as zeros.
template <i32 BYTES>
TCC_FN void copy_async(u32 shared, const void* global, i32 inside) {
  const u64 from = __cvta_generic_to_global(global);
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(inside));
}
TCC_FN void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until all but the newest PENDING groups of copies have arrived, and for all threads.
template <i32 PENDING>
TCC_FN void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING));
  __syncthreads();
}

template <bool TRANSPOSE>
TCC_FN void load_matrices(u32 shared, u32& r0, u32& r1, u32& r2, u32& r3) {
  if (TRANSPOSE)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(shared));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(shared));
}
TCC_FN u32 load_word(u32 shared) {
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(shared));
  return word;
}

// c += a b for 16 rows and 8 columns, over 32 bytes of k. Both are bf16, f16 or tf32, or any two of 8-bit integers.
template <Element A, Element B, class Acc> TCC_FN void mma(Acc (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#define MMA(element_a, element_b, shape_and_types, REGISTER)                                        \
  if constexpr (A == Element::element_a && B == Element::element_b)                                 \
    asm("mma.sync.aligned." shape_and_types                                                         \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
        : REGISTER(c[0]), REGISTER(c[1]), REGISTER(c[2]), REGISTER(c[3])                            \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  MMA(bf16, bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", "+f")
  MMA(f16, f16, "m16n8k16.row.col.f32.f16.f16.f32", "+f")
  MMA(tf32, tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", "+f")
  MMA(i8, i8, "m16n8k32.row.col.s32.s8.s8.s32", "+r")
  MMA(i8, u8, "m16n8k32.row.col.s32.s8.u8.s32", "+r")
  MMA(u8, i8, "m16n8k32.row.col.s32.u8.s8.s32", "+r")
  MMA(u8, u8, "m16n8k32.row.col.s32.u8.u8.s32", "+r")
#undef MMA
}
