#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_isfinite {

OpDef make() {
  OpDef op =
      pointwise({.name = "isfinite",
                 .operands = {"x"},
                 .doc = "x is neither an infinity nor NaN, as bool; torch.isfinite",
                 .to_bool = true,
                 .on_bool = true,
                 .element =
                     [](const Exprs& x) {
                       if (is_float(x.dtype)) return unary(Fn::isfinite, x[0]);
                       return constant_int(DType::boolean, true);
                     },
                 .on_floats = [](const Floats& x) { return std::isfinite(x[0]) ? 1.0 : 0.0; },
                 .on_integers = [](const Ints&) -> int64_t { return true; }});
  op.samples = unary_samples() + unary_int_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_isfinite
