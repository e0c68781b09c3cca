#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_isneginf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "isneginf",
                        .operands = {"x"},
                        .doc = "x is minus infinity, as bool; torch.isneginf",
                        .to_bool = true,
                        .on_bool = true,
                        .element =
                            [](const Exprs& x) {
                              if (is_float(x.dtype)) return equal(x[0], literal(x[0], -kInfinity));
                              return constant_int(DType::boolean, false);
                            },
                        .on_floats = [](const Floats& x) { return x[0] == -kInfinity ? 1.0 : 0.0; },
                        .on_integers = [](const Ints&) -> int64_t { return false; }});
  op.samples = unary_samples() + unary_int_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_isneginf
