// The files that implement Expr share this: computing on constants. Nothing else includes it.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "ir/expr.h"

namespace tcc::ir {

inline bool is_constant(const Expr& e) { return e->kind == ExprNode::Kind::constant; }

// A node whose fields the caller fills in.
inline std::shared_ptr<ExprNode> new_node(ExprNode::Kind kind, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->dtype = dtype;
  return node;
}

// Returns fn of constants, as the dtype computes: floats round, integers wrap, a // 0 = 0 and a % 0
// = a. Returns null where neither IEEE 754 nor tcc's rules determine the device's result to the bit
// (floor division of floats, pow of integers, random numbers).
Expr fold_call(Fn fn, std::span<const Expr> args);
// Converts a constant: floats round to nearest even; to integers they truncate and saturate, NaN
// gives 0.
Expr fold_cast(const Expr& value, DType dtype);

}  // namespace tcc::ir
