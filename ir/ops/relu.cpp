#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_relu {
namespace {

double reference(const Floats& x) { return x[0] < 0 ? 0 : x[0]; }

int64_t integer_reference(const Ints& x) { return three_way(x.dtype, x[0], 0) < 0 ? 0 : x[0]; }

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "relu",
                        .operands = {"x"},
                        .doc = "max(x, 0); torch.nn.functional.relu",
                        .element = [](const Exprs& x) { return maximum(x[0], literal(x[0], 0)); },
                        .on_floats = reference,
                        .on_integers = integer_reference});
  op.samples = unary_samples() + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_relu
