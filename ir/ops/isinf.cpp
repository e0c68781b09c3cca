#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_isinf {

OpDef make() {
  OpDef op = pointwise({.name = "isinf",
                        .operands = {"x"},
                        .doc = "x is an infinity, as bool; torch.isinf",
                        .to_bool = true,
                        .on_bool = true,
                        .element =
                            [](const Exprs& x) {
                              if (is_float(x.dtype)) return unary(Fn::isinf, x[0]);
                              return constant_int(DType::boolean, false);
                            },
                        .on_floats = [](const Floats& x) { return std::isinf(x[0]) ? 1.0 : 0.0; },
                        .on_integers = [](const Ints&) -> int64_t { return false; }});
  op.samples = unary_samples() + unary_int_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_isinf
