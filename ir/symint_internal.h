// The files that implement SymInt share these declarations. Nothing else includes this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/symint.h"

namespace tcc::ir {

// Gives access to SymInt's representation.
struct SymIntAccess {
  static SymInt from_atom(AtomPtr atom) { return SymInt::from_atom(std::move(atom)); }
  // Makes a SymInt of terms that are canonical already.
  static SymInt from_canonical(int64_t constant, std::vector<SymInt::Term> terms) {
    SymInt result = constant;
    if (!terms.empty())
      result.terms_ = std::make_shared<const std::vector<SymInt::Term>>(std::move(terms));
    return result;
  }
  // Makes a SymInt of any terms: they are sorted and merged, and divisions recombined.
  static SymInt from_terms(int64_t constant, std::vector<SymInt::Term> terms) {
    return SymInt::from_terms(constant, std::move(terms));
  }
};

namespace symint {

using Term = SymInt::Term;

// Throw Error(bad_input) "size overflows".
int64_t add_or_throw(int64_t a, int64_t b);
int64_t mul_or_throw(int64_t a, int64_t b);

int64_t floor_div(int64_t a, int64_t b);  // b > 0
int64_t floor_mod(int64_t a, int64_t b);

// ---- atoms and terms (symint_terms.cpp)

// Makes floordiv, mod, min or max an atom, without any simplification. Throws Error(bad_input) when
// its text exceeds a limit.
SymInt make_atom(Atom::Kind kind, const SymInt& a, const SymInt& b);
// Returns the text of such an atom, made of its operands' texts.
std::string operation_text(Atom::Kind kind, const SymInt& a, const SymInt& b,
                           std::span<const std::string, 2> texts);
SymInt make_axis(std::string name, uint64_t id, AxisRole role, const SymInt& extent);
// Returns the axis `atom` with another extent, or the indirect index `atom` with another value
// (which is another atom).
SymInt resized_axis(const Atom& atom, const SymInt& extent);
SymInt with_value(const Atom& atom, Expr value);
// Returns whether two are unchanged copies of each other. This is stricter than ==, which ignores
// the extents of axes.
inline bool same_object(const SymInt& a, const SymInt& b) {
  return a.constant() == b.constant() && a.terms().data() == b.terms().data();
}
template <class T>
int order_of(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

inline int compare_atoms(const AtomPtr& a, const AtomPtr& b) {
  return a == b ? 0 : compare(*a, *b);
}
int compare_terms(const Term& a, const Term& b);  // by atoms alone
bool same_atoms(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b);
bool has_division(const Term& term);
// The atoms of `term` without one occurrence of each of `atoms`; nothing when one is missing.
std::optional<std::vector<AtomPtr>> remove_atoms(const std::vector<AtomPtr>& term,
                                                 const std::vector<AtomPtr>& atoms);
std::vector<AtomPtr> join_atoms(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b);
SymInt from_term(int64_t coefficient, std::vector<AtomPtr> atoms);

// Sorts, merges equal terms, drops zeros.
void normalize(std::vector<Term>& terms);

// ---- recombination (symint_recombine.cpp)

// Undoes divisions: m*(x % c) + m*c*(x // c) becomes m*x, and m*(x % a) + m*a*(x // a % b) becomes
// m*(x % (a*b)). Expects normalised terms; nothing when there is nothing to undo.
std::optional<SymInt> recombine(int64_t constant, const std::vector<Term>& terms);

// ---- ranges (symint_range.cpp)

Interval interval_of(int64_t constant);
Interval add(Interval a, Interval b);
Interval multiply(Interval a, Interval b);
Interval floordiv(Interval a, Interval b);  // of any divisor that is positive
Interval mod(Interval a, Interval b);
inline bool bounded_below(Interval i) { return i.lo > -kUnbounded; }
inline bool bounded_above(Interval i) { return i.hi < kUnbounded; }
// 0 <= value < bound, for every value of the atoms that makes `bound` and all extents positive.
bool surely_within(const SymInt& value, const SymInt& bound);
// The same where the bound may be 0: for every value of the atoms that makes all extents positive.
bool surely_below(const SymInt& value, const SymInt& bound);

// ---- division (symint_div.cpp)

struct Division {
  SymInt quotient, remainder;
};
// dividend = quotient * divisor + remainder, exactly; the remainder is not necessarily in [0,
// divisor).
Division divide(const SymInt& dividend, const SymInt& divisor);
// dividend / divisor when nothing remains.
std::optional<SymInt> divide_exactly(const SymInt& dividend, const SymInt& divisor);

}  // namespace symint
}  // namespace tcc::ir
