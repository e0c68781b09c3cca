// Interval arithmetic and proofs about symbolic bounds find the values that a SymInt can take.
#include <algorithm>

#include "ir/symint_internal.h"
#include "support/error.h"

namespace tcc::ir {

namespace symint {

namespace {

__extension__ using Wide = __int128;

int64_t saturate(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, -kUnbounded, kUnbounded));
}

// An atom may have a bound that is a number and one that is symbolic: this says which of them to
// take.
enum class Prefer : uint8_t { number, symbol };
constexpr Prefer kPreferences[] = {Prefer::number, Prefer::symbol};

// A SymInt over symbols alone that is at least `value` wherever all extents are positive; nothing
// when none is known.
std::optional<SymInt> upper_bound(const SymInt& value, Prefer prefer);

// The atom is no symbol.
std::optional<SymInt> upper_bound(const Atom& atom, Prefer prefer) {
  const bool bounded = atom.range.hi < kUnbounded;
  if (bounded && prefer == Prefer::number) return atom.range.hi;
  if (atom.kind == Atom::Kind::axis) return atom.args[0] - 1;
  if (atom.kind == Atom::Kind::mod) return atom.args[1] - 1;
  if (atom.kind == Atom::Kind::floordiv)
    if (auto dividend = upper_bound(atom.args[0], prefer))
      return ir::floordiv(*dividend, atom.args[1]);
  return bounded ? std::optional<SymInt>(atom.range.hi) : std::nullopt;
}

std::optional<SymInt> upper_bound(const Term& term, Prefer prefer) {
  const bool symbols = std::all_of(term.atoms.begin(), term.atoms.end(), [](const AtomPtr& atom) {
    return atom->kind == Atom::Kind::symbol;
  });
  if (symbols) return from_term(term.coefficient, term.atoms);
  Interval low = interval_of(term.coefficient);
  SymInt high = term.coefficient;
  for (const AtomPtr& atom : term.atoms) {
    if (atom->range.lo < 0) return std::nullopt;
    low = multiply(low, {atom->range.lo, atom->range.lo});
    if (term.coefficient < 0) continue;
    if (atom->kind == Atom::Kind::symbol) {
      high = high * SymIntAccess::from_atom(atom);
      continue;
    }
    auto bound = upper_bound(*atom, prefer);
    if (!bound) return std::nullopt;
    high = high * *bound;
  }
  if (term.coefficient > 0) return high;
  // The least of each factor bounds a negative term from above.
  if (!bounded_above(low)) return std::nullopt;
  return SymInt(low.hi);
}

std::optional<SymInt> upper_bound(const SymInt& value, Prefer prefer) {
  SymInt sum = value.constant();
  for (const Term& term : value.terms()) {
    auto bound = upper_bound(term, prefer);
    if (!bound) return std::nullopt;
    sum = sum + *bound;
  }
  return sum;
}

bool is_monomial(const SymInt& value) { return value.constant() == 0 && value.terms().size() == 1; }

// Symbols that may be 0 by their range but are positive wherever `value` is: the factors of a
// single term.
void collect_positive(const SymInt& value, std::vector<AtomPtr>& symbols) {
  if (!is_monomial(value)) return;
  for (const AtomPtr& atom : value.terms().front().atoms)
    if (atom->kind == Atom::Kind::symbol && atom->range.lo == 0) symbols.push_back(atom);
}

}  // namespace

Interval interval_of(int64_t constant) { return {saturate(constant), saturate(constant)}; }

Interval add(Interval a, Interval b) {
  return {bounded_below(a) && bounded_below(b) ? saturate(Wide{a.lo} + b.lo) : -kUnbounded,
          bounded_above(a) && bounded_above(b) ? saturate(Wide{a.hi} + b.hi) : kUnbounded};
}

Interval multiply(Interval a, Interval b) {
  const auto [lo, hi] =
      std::minmax({Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi});
  return {saturate(lo), saturate(hi)};
}

Interval floordiv(Interval a, Interval b) {
  const int64_t least = std::max<int64_t>(b.lo, 1), most = std::max(b.hi, least);
  const bool bounded = most < kUnbounded;
  Interval result{-kUnbounded, kUnbounded};
  if (a.lo >= 0)
    result.lo = bounded ? floor_div(a.lo, most) : 0;
  else if (bounded_below(a))
    result.lo = floor_div(a.lo, least);
  if (a.hi < 0)
    result.hi = bounded ? floor_div(a.hi, most) : -1;
  else if (bounded_above(a))
    result.hi = floor_div(a.hi, least);
  return result;
}

Interval mod(Interval a, Interval b) {
  if (a.lo >= 0 && bounded_above(a) && a.hi < b.lo) return a;
  const int64_t most = std::max<int64_t>(b.hi, 1);
  const int64_t last = most < kUnbounded ? most - 1 : kUnbounded;
  return {0, a.lo >= 0 ? std::min(last, a.hi) : last};
}

// `positive` are symbols that are not 0, beside those of extents.
static bool is_within(const SymInt& value, const SymInt& bound, std::vector<AtomPtr> positive) {
  const Interval range = value.range();
  if (range.lo < 0) return false;
  if (bounded_above(range) && range.hi < bound.range().lo) return true;
  if (bound.is_const()) return false;
  value.visit_atoms([&](const AtomPtr& atom) {
    if (atom->kind == Atom::Kind::axis) collect_positive(atom->args[0], positive);
  });
  // A positive symbol is 1 + something that is not negative, and less than the symbol.
  const auto shifted = [&](const AtomPtr& atom) -> std::optional<SymInt> {
    const bool is_positive =
        std::any_of(positive.begin(), positive.end(),
                    [&](const AtomPtr& symbol) { return compare_atoms(symbol, atom) == 0; });
    if (!is_positive) return std::nullopt;
    return SymIntAccess::from_atom(atom) + 1;
  };
  return std::any_of(std::begin(kPreferences), std::end(kPreferences), [&](Prefer prefer) {
    try {
      const auto most = upper_bound(value, prefer);
      return most && (bound - *most).substitute(shifted).range().lo >= 1;
    } catch (const Error&) {  // a bound that no expression can hold proves nothing
      return false;
    }
  });
}

bool surely_within(const SymInt& value, const SymInt& bound) {
  std::vector<AtomPtr> positive;
  collect_positive(bound, positive);
  return is_within(value, bound, std::move(positive));
}

bool surely_below(const SymInt& value, const SymInt& bound) { return is_within(value, bound, {}); }

}  // namespace symint

Interval SymInt::range() const {
  Interval sum = symint::interval_of(constant_);
  for (const Term& term : terms()) {
    Interval product = symint::interval_of(term.coefficient);
    for (const AtomPtr& atom : term.atoms) product = symint::multiply(product, atom->range);
    sum = symint::add(sum, product);
  }
  return sum;
}

}  // namespace tcc::ir
