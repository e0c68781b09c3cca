// Expressions that reinterpret bits. In an ExprNode this is a `cast` whose `integer` is 1.
#pragma once

#include "ir/expr.h"
#include "ir/scalar_eval.h"

namespace tcc::ir {

// The bits of `value`, an element of type `from`, as an element of `to`, which is as wide; neither
// is bool. NaN may change its payload where it passes through a narrow float.
Expr bit_cast(const Expr& value, DType from, DType to);

inline bool keeps_bits(const ExprNode& e) {
  return e.kind == ExprNode::Kind::cast && e.integer != 0;
}

// The same of a number.
Number bit_cast(const Number& value, DType from, DType to);

}  // namespace tcc::ir
