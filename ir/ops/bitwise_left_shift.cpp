#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops {
namespace {

// A shift by less than 0 or by the width and more is undefined on devices; every bit has left the
// number then.
Expr shift_left(const Exprs& x) {
  const Expr zero = literal(x[1], 0);
  const Expr in_width = call(Fn::logical_and, {call(Fn::ge, {x[1], zero}),
                                               less(x[1], literal(x[1], 8 * size_bytes(x.dtype)))});
  return select(in_width, call(Fn::shift_left, {x[0], select(in_width, x[1], zero)}), zero);
}

int64_t shift_left(const Ints& x) {
  const bool in_width = x[1] >= 0 && x[1] < 8 * size_bytes(x.dtype);
  return in_width ? static_cast<int64_t>(static_cast<uint64_t>(x[0]) << x[1]) : 0;
}

}  // namespace

OpDef make_bitwise_left_shift() {
  OpDef op = pointwise({.name = "bitwise_left_shift",
                        .operands = {"a", "b"},
                        .doc = "a << b, 0 unless 0 <= b < bits; torch.bitwise_left_shift",
                        .element = [](const Exprs& x) { return shift_left(x); },
                        .on_integers = [](const Ints& x) { return shift_left(x); }});
  op.samples = binary_int_samples(-2, 40);
  return op;
}

}  // namespace tcc::ir::ops
