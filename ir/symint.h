// Symbolic integers: the dims of shapes and the indices of loop expressions.
//
// A SymInt is an immutable polynomial with integer coefficients over atoms, kept in a canonical
// form so that equal values usually compare equal: `B*12*64 == B*768`, `(i/8)*8 + i%8 == i`. Atoms
// are symbols (graph dims, >= 0), axes (loop variables in [0, extent)), indirect indices (a loaded
// value, range known) and floor-divisions, remainders, minima and maxima that could not be
// simplified. Division and remainder round towards minus infinity.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tcc::ir {

class SymInt;
struct ExprNode;  // ir/expr.h
using Expr = std::shared_ptr<const ExprNode>;

// Inclusive bounds; kUnbounded stands for "not known" on either side.
struct Interval {
  int64_t lo, hi;
};
inline constexpr int64_t kUnbounded = int64_t{1} << 60;

// The source of an axis's values.
enum class AxisRole : uint8_t {
  local,      // a loop or a let_index of a kernel
  reduction,  // a reduction within an expression
  block,      // the workgroup's place in the grid
  thread,     // the thread's place in the workgroup
  parameter,  // the caller of the hook
};

struct Atom {
  enum class Kind : uint8_t { symbol, axis, indirect, floordiv, mod, min, max };
  Kind kind;
  std::string name;          // symbol: its identity; axis, indirect: a hint for printed names
  uint64_t id = 0;           // axis, indirect: its identity
  AxisRole role{};           // axis
  int64_t usual = 1;         // symbol: a value to estimate with; no part of the identity
  Interval range;            // what values it can take
  std::vector<SymInt> args;  // floordiv, mod, min, max: two; axis: its extent
  Expr value;                // indirect: the loaded index, already clamped into range
  std::string text;          // orders atoms; different atoms may have the same one
};
using AtomPtr = std::shared_ptr<const Atom>;

// An id that no axis, indirect index or variable of this process has. Ids of one thread ascend:
// comparing two of them tells which was made first, and nothing else about an id is meaningful.
uint64_t new_id();

// A total order: by text, then by identity. It depends on names and on the order in which axes
// were made, so what is compiled from a graph does not depend on what was compiled before.
int compare(const Atom& a, const Atom& b);
inline bool operator==(const Atom& a, const Atom& b) { return compare(a, b) == 0; }
struct AtomHash {
  size_t operator()(const AtomPtr& atom) const { return std::hash<std::string>()(atom->text); }
};
struct AtomEqual {
  bool operator()(const AtomPtr& a, const AtomPtr& b) const { return *a == *b; }
};

class SymInt {
 public:
  SymInt(int64_t constant = 0) : constant_(constant) {}  // NOLINT: implicit on purpose
  // `usual` is what estimates take for its value.
  static SymInt symbol(std::string name, int64_t usual = 1);
  // Makes an axis that differs from all others, whatever its name. It is the constant 0 when the
  // extent is 1: such a loop has no variable.
  static SymInt axis(std::string name, const SymInt& extent, AxisRole role = AxisRole::local);
  // The axis of the role block or thread: there is one of each in a kernel.
  static SymInt standard_axis(AxisRole role, const SymInt& extent);
  static SymInt indirect(std::string name, Expr value, Interval range);

  bool is_const() const { return !terms_; }
  // The constant value. Throws Error(bad_input) for a size that is open, InternalError for another
  // expression.
  int64_t value() const;
  bool is(int64_t constant) const { return is_const() && constant_ == constant; }

  // A product of atoms (with repetition, sorted by key) and its coefficient.
  struct Term {
    int64_t coefficient;
    std::vector<AtomPtr> atoms;
  };
  int64_t constant() const { return constant_; }
  std::span<const Term> terms() const;
  // Returns the atom, if this is exactly one atom with coefficient 1.
  AtomPtr as_atom() const;

  Interval range() const;
  // Returns whether all coefficients and the constant are multiples of `divisor`.
  bool divisible_by(int64_t divisor) const;
  // Returns the largest power of two (at most `limit`) that surely divides it.
  int64_t known_power_of_two(int64_t limit) const;
  bool uses(
      const AtomPtr& atom) const;  // also below divisions and in the values of indirect indices
  // Every distinct atom once, outer before inner; does not enter the values of indirect indices or
  // axes' extents.
  void visit_atoms(const std::function<void(const AtomPtr&)>& visit) const;

  // The value with atoms replaced; `replace` returns nothing to keep an atom. Enters divisions, the
  // extents of axes and the values of indirect indices.
  using Replace = std::function<std::optional<SymInt>(const AtomPtr&)>;
  SymInt substitute(const Replace& replace) const;
  SymInt substitute(const SymInt& atom, const SymInt& by) const;
  // The number, when `lookup` knows every symbol; throws Error(bad_input) on overflow or an unknown
  // one.
  int64_t evaluate(const std::function<std::optional<int64_t>(const Atom&)>& lookup) const;
  // The number when every symbol has its usual value. What is decided by it must be right for all
  // values.
  int64_t usual() const;

  std::string to_string() const;  // parses back with parse_symint
  // Does the same with `name` for axes and indirect indices.
  using NameOf = std::function<std::string(const Atom&)>;
  std::string to_string(const NameOf& name) const;
  friend bool operator==(const SymInt& a, const SymInt& b);

  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a);

 private:
  friend struct SymIntAccess;  // ir/symint_internal.h
  static SymInt from_atom(AtomPtr atom);
  static SymInt from_terms(int64_t constant, std::vector<Term> terms);
  int64_t constant_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // null when constant
};

SymInt floordiv(const SymInt& a, const SymInt& b);  // b > 0
SymInt mod(const SymInt& a, const SymInt& b);       // b > 0; result in [0, b)
SymInt min(const SymInt& a, const SymInt& b);
SymInt max(const SymInt& a, const SymInt& b);
SymInt ceildiv(const SymInt& a, const SymInt& b);
// A total order, like that of atoms.
int compare(const SymInt& a, const SymInt& b);
size_t hash_value(const SymInt& value);
// The number of values that an axis takes.
SymInt extent_of(const SymInt& axis);

// Integers, symbols, + - * // % and parentheses. Throws Error(bad_input) naming the column and the
// reason; depth and length are limited.
SymInt parse_symint(std::string_view text);

std::ostream& operator<<(std::ostream& out, const SymInt& value);

using Shape = std::vector<SymInt>;
std::string to_string(std::span<const SymInt> shape);  // "[B, 768]"
SymInt product(std::span<const SymInt> values);
// Row-major strides of `shape`, in elements.
std::vector<SymInt> row_major_strides(std::span<const SymInt> shape);
// The offset of `index` in a row-major `shape`, and back.
SymInt linearize(std::span<const SymInt> index, std::span<const SymInt> shape);
std::vector<SymInt> delinearize(const SymInt& offset, std::span<const SymInt> shape);

}  // namespace tcc::ir
