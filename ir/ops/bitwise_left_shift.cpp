#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_bitwise_left_shift {
namespace {

int64_t shift_left(const Ints& x) {
  const bool in_width = x[1] >= 0 && x[1] < 8 * size_bytes(x.dtype);
  return in_width ? static_cast<int64_t>(static_cast<uint64_t>(x[0]) << x[1]) : 0;
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "bitwise_left_shift",
                        .operands = {"a", "b"},
                        .doc = "a << b, 0 unless 0 <= b < bits; torch.bitwise_left_shift",
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::shift_left, {x[0], x[1]});
                            },
                        .on_integers = shift_left});
  using enum DType;
  op.samples = binary_int_samples(-2, 40);
  for (const DType dtype : {u8, u16, u32, u64})
    op.samples.push_back({.inputs = {{dtype, {3, 40}}, {dtype, {40}}}, .int_hi = 70});
  return op;
}

}  // namespace tcc::ir::ops::op_bitwise_left_shift
