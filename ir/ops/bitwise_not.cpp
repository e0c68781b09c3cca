#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_bitwise_not {
namespace {

Expr lower(const Exprs& x) {
  return call(x.dtype == DType::boolean ? Fn::logical_not : Fn::bitwise_not, {x[0]});
}

int64_t integer_reference(const Ints& x) { return x.dtype == DType::boolean ? x[0] == 0 : ~x[0]; }

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "bitwise_not",
                        .operands = {"x"},
                        .doc = "Every bit flipped, of integers or bools; torch.bitwise_not",
                        .on_bool = true,
                        .element = lower,
                        .on_integers = integer_reference});
  op.samples = unary_int_samples(-100, 100);
  op.samples.push_back(unary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_bitwise_not
