#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_isnan {

OpDef make() {
  OpDef op = pointwise({.name = "isnan",
                        .operands = {"x"},
                        .doc = "x is NaN, as bool; torch.isnan",
                        .to_bool = true,
                        .on_bool = true,
                        .element =
                            [](const Exprs& x) {
                              if (is_float(x.dtype)) return unary(Fn::isnan, x[0]);
                              return constant_int(DType::boolean, false);
                            },
                        .on_floats = [](const Floats& x) { return std::isnan(x[0]) ? 1.0 : 0.0; },
                        .on_integers = [](const Ints&) -> int64_t { return false; }});
  op.samples = unary_samples() + unary_int_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_isnan
