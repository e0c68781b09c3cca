#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_bitwise_right_shift {
namespace {

int64_t shift_right(const Ints& x) {
  const int bits = 8 * size_bytes(x.dtype);
  const bool in_width = x[1] >= 0 && x[1] < bits;
  if (info(x.dtype).is_signed) return x[0] >> (in_width ? x[1] : bits - 1);
  return in_width ? static_cast<int64_t>(static_cast<uint64_t>(x[0]) >> x[1]) : 0;
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "bitwise_right_shift",
                        .operands = {"a", "b"},
                        .doc = "a >> b, arithmetic; the sign's copies unless 0 <= b < bits; "
                               "torch.bitwise_right_shift",
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::shift_right, {x[0], x[1]});
                            },
                        .on_integers = shift_right});
  using enum DType;
  op.samples = binary_int_samples(-100, 100);
  for (const DType dtype : {u8, u16, u32, u64})
    op.samples.push_back({.inputs = {{dtype, {3, 40}}, {dtype, {40}}}, .int_hi = 70});
  return op;
}

}  // namespace tcc::ir::ops::op_bitwise_right_shift
