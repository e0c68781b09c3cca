// Types for the vocabulary of common/matrix.h, and how a kernel's entry hands the hooks of its operands to parts.
#include "../common/matrix.h"

using namespace tcc::kernels;

template <bool CONDITION, class Then, class Else> struct EitherOf {
  using type = Then;
};
template <class Then, class Else> struct EitherOf<false, Then, Else> {
  using type = Else;
};
template <bool CONDITION, class Then, class Else> using Either = typename EitherOf<CONDITION, Then, Else>::type;

// A size of a product: a constant, or where that is 0 a number that comes at run time.
template <i32 CONSTANT> struct Size {
  static constexpr i32 value = CONSTANT;
  __device__ __forceinline__ constexpr Size(i32) {}
  __device__ __forceinline__ constexpr operator i32() const { return CONSTANT; }
  // Whether tiles so long have no ragged one behind them.
  __device__ __forceinline__ static constexpr bool fills(i32 block) { return CONSTANT % block == 0; }
  __device__ __forceinline__ static constexpr bool is(i32 size) { return CONSTANT == size; }
};
template <> struct Size<0> {
  i32 value;
  __device__ __forceinline__ Size(i32 value) : value(value) {}
  __device__ __forceinline__ operator i32() const { return value; }
  __device__ __forceinline__ static constexpr bool fills(i32) { return false; }
  __device__ __forceinline__ static constexpr bool is(i32) { return false; }
};

// n / d of numbers that are not negative: a signed division takes further instructions for the signs.
TCC_FN i32 quotient(i32 n, i32 d) { return i32(u32(n) / u32(d)); }

// The type of accumulators, and of what load hooks compute.
template <Sum SUM> using SumType = Either<SUM == Sum::f32, f32, Either<SUM == Sum::i32, i32, u32>>;
// Parts of a sum, added up. Those of integers wrap.
TCC_FN f32 add_sums(f32 a, f32 b) { return a + b; }
TCC_FN i32 add_sums(i32 a, i32 b) { return i32(u32(a) + u32(b)); }
TCC_FN u32 add_sums(u32 a, u32 b) { return a + b; }
// An element as memory holds it.
template <Element E> using Stored = Either<bytes_of(E) == 1, u8, Either<bytes_of(E) == 2, u16, f32>>;

// Two elements of 16 bits as one word.
template <Element E> TCC_FN u32 pack_elements(f32 low, f32 high) {
  static_assert(bytes_of(E) == 2, "elements of 16 bits");
  return E == Element::bf16 ? TCC_PACK_BF16(low, high) : TCC_PACK_F16(low, high);
}

// The hooks of one operand, with the kernel's buffers filled in. Those that a region has no use for do not exist: their
// calls compile because nobody instantiates them.
template <class LoadHook, class LineHook, class VectorHook, class InsideHook, class BatchHook> struct OperandHooks {
  LoadHook load;      // load(batch, at, k, v): computes neighbouring elements
  LineHook line;      // line(batch, number): the offset of a line's first element
  VectorHook vector;  // vector(batch, at, k): the offset of an aligned vector
  InsideHook inside;  // inside(batch, at, k): whether a vector is in the image
  BatchHook batch;    // batch(number, c): the batch's coordinates in the tensor map
  const void* buffer;
};
template <class LoadHook, class LineHook, class VectorHook, class InsideHook, class BatchHook>
OperandHooks(LoadHook, LineHook, VectorHook, InsideHook, BatchHook, const void*)
    -> OperandHooks<LoadHook, LineHook, VectorHook, InsideHook, BatchHook>;

// Those of operand `x`, a or b, whose buffer is argument `number`. The lambdas are generic, so that a hook is looked up
// when it is called.
#define OPERAND_HOOKS(x, number)                                                                                  \
  OperandHooks {                                                                                                  \
    [&](i32 batch, auto at, auto k, auto& v) { load_##x(TCC_BUFFERS batch, at, k, v); },                            \
        [&](i32 batch, auto line) { return row_##x(TCC_BUFFERS batch, line); },                                   \
        [&](i32 batch, auto at, auto k) { return vector_##x(TCC_BUFFERS batch, at, k); },                         \
        [&](i32 batch, auto at, auto k) { return inside_##x(TCC_BUFFERS batch, at, k); },                         \
        [&](i32 batch, auto& c) { batch_##x(TCC_BUFFERS batch, c); }, buffer_at<number>(TCC_BUFFERS nullptr)       \
  }
// The address of a kernel's argument; null beyond them.
template <i32 NUMBER, class First, class... Others>
TCC_FN const void* buffer_at(First first, Others... others) {
  if constexpr (NUMBER == 0 || sizeof...(Others) == 0)
    return first;
  else
    return buffer_at<NUMBER - 1>(others...);
}
