#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_relu6 {
namespace {

double reference(const Floats& x) {
  if (x[0] < 0) return 0;
  return x[0] > 6 ? 6 : x[0];
}

int64_t integer_reference(const Ints& x) {
  if (three_way(x.dtype, x[0], 0) < 0) return 0;
  return three_way(x.dtype, x[0], 6) > 0 ? 6 : x[0];
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "relu6",
                        .operands = {"x"},
                        .doc = "min(max(x, 0), 6); torch.nn.functional.relu6",
                        .element =
                            [](const Exprs& x) {
                              return minimum(maximum(x[0], literal(x[0], 0)), literal(x[0], 6));
                            },
                        .on_floats = reference,
                        .on_integers = integer_reference});
  op.samples = unary_samples(-9, 9) + unary_int_samples(-8, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_relu6
