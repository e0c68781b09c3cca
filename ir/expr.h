// Scalar loop expressions. An expression computes one element of an op's output from elements of
// the op's inputs.
//
// Immutable and shared. Scheduling inlines them into one another, so that a fused kernel is one
// expression per output (plus reductions); backends/emit prints them. Float arithmetic on values
// narrower than f32 is done in f32: expressions never compute in such a type, `cast` rounds.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/scalar.h"
#include "ir/symint.h"

namespace tcc::ir {

// A variable or an array of a kernel. Two are the same when their ids are; the dtype is that of the
// value, or of the elements.
struct Variable {
  uint64_t id = 0;
  DType dtype{};
  std::string name;  // a hint for printed names
  friend bool operator==(const Variable& a, const Variable& b) { return a.id == b.id; }
};
Variable new_variable(std::string name, DType dtype);

struct ExprNode {
  enum class Kind : uint8_t {
    constant,  // number (float dtypes) or integer (others)
    index,     // a SymInt as a value; dtype i64
    load,      // element `offset` of buffer `buffer`; dtype is the compute dtype of what is stored
    var,       // a variable of the kernel: an accumulator, a reduced value, a hook's parameter
    call,      // fn(args...)
    cast,    // args[0] converted to dtype; rounds when the dtype is narrower, so f32 -> bf16 -> f32
             // rounds
    reduce,  // serial reduction of args[0] over `axes`, within one thread
    // Only in kernels (scheduler/kernel.h):
    element,  // variable[index]: an element of a register or shared array
    shuffle,  // args[0] of the lane whose subgroup index is this lane's xor `integer`
  };
  Kind kind;
  DType dtype;          // of the value; narrower than f32 only as the result of a cast
  Fn fn{};              // call
  ReduceKind reduce{};  // reduce
  double number = 0;    // constant, floats
  int64_t integer = 0;  // constant, integers and bool
  int buffer = -1;      // load: the kernel's buffer slot
  DType stored{};       // load: dtype in memory
  SymInt index;         // index: the value; load: the flat element offset; element: which
  Variable variable;    // var, element
  std::vector<Expr> args;
  std::vector<SymInt> axes;  // reduce: axis atoms
};

Expr constant(DType dtype, double value);
Expr constant_int(DType dtype, int64_t value);
Expr index_value(const SymInt& index);  // i64
Expr load(int buffer, DType stored, const SymInt& offset);
Expr read(const Variable& variable);
Expr element(const Variable& array, const SymInt& index);
Expr shuffle_xor(const Expr& value, int64_t mask);
// Simplifies on the way: constants fold, x*1, x+0 (integers, or float where exact), select of a
// constant condition.
Expr call(Fn fn, std::vector<Expr> args);
Expr cast(const Expr& value, DType dtype);
Expr reduce(ReduceKind kind, std::vector<SymInt> axes, const Expr& body);

// These are shorthands; both operands share one dtype.
inline Expr add(const Expr& a, const Expr& b) { return call(Fn::add, {a, b}); }
inline Expr sub(const Expr& a, const Expr& b) { return call(Fn::sub, {a, b}); }
inline Expr mul(const Expr& a, const Expr& b) { return call(Fn::mul, {a, b}); }
inline Expr div(const Expr& a, const Expr& b) { return call(Fn::div, {a, b}); }
inline Expr select(const Expr& c, const Expr& a, const Expr& b) {
  return call(Fn::select, {c, a, b});
}
Expr index_less(const SymInt& a, const SymInt& b);  // a < b, folded where the ranges decide
Expr in_range(const SymInt& a, const SymInt& lo, const SymInt& hi);  // lo <= a < hi
Expr all_of(std::span<const Expr> conditions);  // null Exprs are "true"; null when all are

bool is_true(const Expr& e);
bool is_const(const Expr& e, double value);
std::string to_string(const Expr& e);
// Returns complete text: constants have their dtypes, a part that is used more than once is written
// once ("#1=exp(x)", then "#1"), and names are the caller's.
struct ExprNames {
  SymInt::NameOf atom;
  std::function<std::string(const Variable&)> variable;
  std::function<std::string(int buffer, DType stored)> buffer;
};
std::string exact_text(const Expr& e, const ExprNames& names);
// A total order by structure.
int compare(const Expr& a, const Expr& b);

// Rebuilds bottom-up. `leaf` may return a replacement for any node (asked before its children),
// null to descend; `index` maps every SymInt inside (axes and indirect values included).
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& leaf,
             const std::function<SymInt(const SymInt&)>& index = {});
// Rewrites all of `values` in place; shared subexpressions stay shared.
void rewrite_all(std::vector<Expr>& values, const std::function<Expr(const Expr&)>& leaf);
// Every distinct node once, operands before users; enters the values of indirect indices too.
void visit(const Expr& e, const std::function<void(const Expr&)>& seen);

}  // namespace tcc::ir
