// Elementwise ops: an element of the output is a function of one element of each operand, under
// broadcasting and PyTorch's type promotion.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

// The function of one element gets the operands' elements, converted to the op's working dtype. It
// is stated three times, on expressions (the lowering), on doubles and on integers (the reference).
template <class T>
struct Operands {
  const Node& node;
  DType dtype;  // the working dtype
  std::span<const T> values;
  const T& operator[](size_t k) const { return values[k]; }
  double number(std::string_view key) const { return number_attr(node, key); }
  int64_t whole(std::string_view key) const { return whole_attr(node, key); }
};
using Exprs = Operands<Expr>;     // of compute_dtype(dtype); `condition` of bool
using Floats = Operands<double>;  // a `condition` as 0 or 1
using Ints = Operands<int64_t>;   // integers and bool, u64 as its bits

// The working dtype, given the promoted dtype of the operands.
using WorkingDType = DType (*)(const Node&, DType promoted);
inline DType as_promoted(const Node&, DType promoted) { return promoted; }
inline DType as_float(const Node&, DType d) { return is_float(d) ? d : DType::f32; }
inline DType as_bool(const Node&, DType) { return DType::boolean; }
// bool as a number, for comparisons.
inline DType as_number(const Node&, DType d) { return d == DType::boolean ? DType::i32 : d; }

struct Pointwise {
  std::string name;
  std::vector<std::string> operands;
  std::string doc;
  std::vector<AttrDef> attrs = {};
  WorkingDType working = as_promoted;
  bool to_bool = false;  // the output is bool rather than the working dtype
  int condition = -1;    // this operand is a bool and takes no part in the promotion
  bool on_bool = false;  // bool is fine as the working dtype (`on_integers` is its reference)
  std::function<Expr(const Exprs&)> element;
  std::function<double(const Floats&)> on_floats = {};   // null: refused for floats
  std::function<int64_t(const Ints&)> on_integers = {};  // null: refused for integers; results wrap
  std::function<void(const InferContext&)> check = {};   // of the attributes
};

// The op, without samples.
OpDef pointwise(Pointwise spec);

// One operand, computed in floating point: integers and bool become f32, as torch.exp does.
OpDef unary_float(std::string name, Fn fn, double (*reference)(double), std::string doc);
// One operand: `fn` on floats, the identity on integers (torch.floor).
OpDef rounding(std::string name, Fn fn, double (*reference)(double), std::string doc);
// Two operands, compared as their promoted dtype; to bool.
enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge };
OpDef comparison(std::string name, Comparison kind, std::string doc);

// The index into an operand of `shape` of the element that broadcasting puts at `index`.
std::vector<SymInt> broadcast_index(std::span<const SymInt> index, const Shape& shape);

// Element `offset` of a reference tensor as a number; a u64 from its bits.
double float_at(const RefTensor& x, int64_t offset);

// ---- expressions

// A constant of the dtype of `like`.
Expr literal(const Expr& like, double value);
// An attribute in the dtype of `like`.
Expr literal(const Expr& like, const Node& node, std::string_view key);
// `value` as `dtype`'s compute dtype; itself where it is that already.
Expr converted(const Expr& value, DType dtype);
inline Expr less(const Expr& a, const Expr& b) { return call(Fn::lt, {a, b}); }
inline Expr greater(const Expr& a, const Expr& b) { return call(Fn::gt, {a, b}); }
inline Expr equal(const Expr& a, const Expr& b) { return call(Fn::eq, {a, b}); }
inline Expr minimum(const Expr& a, const Expr& b) { return call(Fn::minimum, {a, b}); }
inline Expr maximum(const Expr& a, const Expr& b) { return call(Fn::maximum, {a, b}); }
inline Expr unary(Fn fn, const Expr& x) { return call(fn, {x}); }

}  // namespace tcc::ir::ops
