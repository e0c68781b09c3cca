// Expressions that reinterpret bits. In an ExprNode this is a `cast` whose `integer` is 1.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/scalar_eval.h"

namespace tcc::ir {

// Returns the bits of `value`, an element of type `from`, as an element of `to`, which is as wide;
// neither is bool. A value that was only moved keeps its bits; a computed NaN may have any payload.
Expr bit_cast(const Expr& value, DType from, DType to);

inline bool keeps_bits(const ExprNode& e) {
  return e.kind == ExprNode::Kind::cast && e.integer != 0;
}

// Does the same for a number.
Number bit_cast(const Number& value, DType from, DType to);

// The unsigned integer as wide as a float narrower than f32.
inline DType bits_type(DType narrow) { return size_bytes(narrow) == 1 ? DType::u8 : DType::u16; }

// The bits of elements of a float type narrower than f32 that an expression moves: it loads them,
// makes them of integers' bits, or selects among such elements and constants.
class MovedBits {
 public:
  // `of_name` gives the bits of a variable or an array's element, or null.
  using OfName = std::function<Expr(const Expr&)>;
  explicit MovedBits(DType narrow, OfName of_name = {})
      : type_(narrow), of_name_(std::move(of_name)) {}

  // Like bits_type, but null where `value` is computed.
  Expr of(const Expr& value);

 private:
  Expr find(const Expr& value);
  Expr of_cast(const Expr& value);
  DType type_;
  OfName of_name_;
  std::unordered_map<Expr, Expr> memo_;  // its keys live as long as it does
};

}  // namespace tcc::ir
