#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_abs {
namespace {

Expr lower(const Exprs& x) { return info(x.dtype).is_signed ? unary(Fn::abs, x[0]) : x[0]; }

int64_t integer_reference(const Ints& x) {
  return info(x.dtype).is_signed && x[0] < 0 ? wrapping_sub(0, x[0]) : x[0];
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "abs",
                        .operands = {"x"},
                        .doc = "The magnitude of x; torch.abs",
                        .element = lower,
                        .on_floats = [](const Floats& x) { return std::fabs(x[0]); },
                        .on_integers = integer_reference});
  op.samples = unary_samples() + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_abs
