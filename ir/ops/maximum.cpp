#include <algorithm>
#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_maximum {

OpDef make() {
  OpDef op = pointwise(
      {.name = "maximum",
       .operands = {"a", "b"},
       .doc = "The larger of a and b, NaN if either is; `or` of bools; torch.maximum",
       .on_bool = true,
       .element =
           [](const Exprs& x) {
             return call(x.dtype == DType::boolean ? Fn::logical_or : Fn::maximum, {x[0], x[1]});
           },
       .on_floats =
           [](const Floats& x) {
             if (std::isnan(x[0]) || std::isnan(x[1])) return x[0] + x[1];
             return std::max(x[0], x[1]);
           },
       .on_integers =
           [](const Ints& x) { return three_way(x.dtype, x[0], x[1]) > 0 ? x[0] : x[1]; }});
  op.samples = binary_samples() + binary_int_samples(-8, 8) + int_float_samples();
  op.samples.push_back(binary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_maximum
