#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_where {

OpDef make() {
  OpDef op = pointwise({.name = "where",
                        .operands = {"condition", "a", "b"},
                        .doc = "a where condition (bool) holds, b elsewhere; torch.where",
                        .condition = 0,
                        .on_bool = true,
                        .element = [](const Exprs& x) { return select(x[0], x[1], x[2]); },
                        .on_floats = [](const Floats& x) { return x[0] != 0 ? x[1] : x[2]; },
                        .on_integers = [](const Ints& x) { return x[0] != 0 ? x[1] : x[2]; }});
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{boolean, {3, 9}}, {f32, {3, 9}}, {f32, {3, 9}}}, .int_hi = 2},
                {.inputs = {{boolean, {4, 1}}, {f32, Shape{}}, {f16, {2, 1, 5}}}, .int_hi = 2},
                {.inputs = {{boolean, Shape{}}, {i32, {0, 3}}, {i64, {3}}}, .int_hi = 2},
                {.inputs = {{boolean, {7}}, {boolean, {7}}, {boolean, {2, 7}}}, .int_hi = 2},
                {.inputs = {{boolean, {9}}, {f8e5m2, {9}}, {f8e5m2, Shape{}}}, .int_hi = 2}};
  return op;
}

}  // namespace tcc::ir::ops::op_where
