// Products of a warpgroup whose first operand, A, lies in registers: four words of a lane are two rows of two eights of k, 16
// elements of 16 bits. B is MN-major. The sum is always added to d.
#include "wgmma.cuh"

#define WGMMA_REGISTERS_PREPARE(a, b, c, t, u) "mov.b64 b, {%" #u ", 0x40000040};\nsetp.eq.b32 p, 0, 0;\n"
#define WGMMA_REGISTERS_MODES(a, b, c, t, u) "}, {%" #a ", %" #b ", %" #c ", %" #t "}, b, p, 1, 1, 1;\n}"
template <i32 COLUMNS> struct WgmmaRegisters;
#define WGMMA_REGISTERS_BRANCH(columns, element, types)                                                               \
  if constexpr (E == Element::element)                                                                                \
    asm volatile("{\n.reg .pred p;\n.reg .b64 b;\n" COLUMNS_##columns(WGMMA_NONE, WGMMA_NONE, WGMMA_REGISTERS_PREPARE) \
                 "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." types                                        \
                 " {" COLUMNS_##columns(WGMMA_FIRST, WGMMA_NEXT, WGMMA_REGISTERS_MODES)                               \
                 : COLUMNS_##columns(WGMMA_FIRST_FLOATS, WGMMA_NEXT_FLOATS, WGMMA_NO_INPUTS)                          \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b));
#define WGMMA_REGISTERS(columns)                                                                                      \
  template <> struct WgmmaRegisters<columns> {                                                                        \
    template <Element E>                                                                                              \
    __device__ __forceinline__ static void multiply(f32 (&d)[columns / 2], u32 a0, u32 a1, u32 a2, u32 a3, u32 b) {   \
      WGMMA_REGISTERS_BRANCH(columns, bf16, "bf16.bf16")                                                              \
      WGMMA_REGISTERS_BRANCH(columns, f16, "f16.f16")                                                                 \
    }                                                                                                                 \
  };
