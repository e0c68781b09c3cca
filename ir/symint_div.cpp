// Floor division and remainder: exact parts leave, what is provably small drops, the rest becomes
// an atom.
#include <algorithm>
#include <numeric>

#include "ir/symint_internal.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {

namespace symint {

namespace {

Division divide_by_constant(const SymInt& dividend, int64_t divisor) {
  std::vector<Term> quotient, remainder;
  for (const Term& term : dividend.terms()) {
    // Towards zero, so that -i keeps its sign rather than becoming (divisor-1)*i.
    const int64_t whole = term.coefficient / divisor, rest = term.coefficient % divisor;
    if (whole != 0) quotient.push_back({whole, term.atoms});
    if (rest != 0) remainder.push_back({rest, term.atoms});
  }
  return {SymIntAccess::from_terms(floor_div(dividend.constant(), divisor), std::move(quotient)),
          SymIntAccess::from_terms(floor_mod(dividend.constant(), divisor), std::move(remainder))};
}

Division divide_by_term(const SymInt& dividend, const Term& divisor) {
  std::vector<Term> quotient, remainder;
  for (const Term& term : dividend.terms()) {
    auto factor = remove_atoms(term.atoms, divisor.atoms);
    const int64_t whole = factor ? term.coefficient / divisor.coefficient : 0;
    const int64_t rest = term.coefficient - whole * divisor.coefficient;
    if (whole != 0) quotient.push_back({whole, std::move(*factor)});
    if (rest != 0) remainder.push_back({rest, term.atoms});
  }
  // A term that is a multiple of the divisor's atoms alone is a constant of the quotient.
  SymInt sum = 0;
  for (Term& term : quotient) sum = sum + from_term(term.coefficient, std::move(term.atoms));
  return {sum, SymIntAccess::from_terms(dividend.constant(), std::move(remainder))};
}

// Polynomial division by the leading term in graded lexicographic order.
Division divide_by_sum(const SymInt& dividend, const SymInt& divisor) {
  constexpr int kMaxSteps = 64;
  const Term& lead = *std::min_element(divisor.terms().begin(), divisor.terms().end(),
                                       [](const Term& a, const Term& b) {
                                         if (a.atoms.size() != b.atoms.size())
                                           return a.atoms.size() > b.atoms.size();
                                         return compare_terms(a, b) < 0;
                                       });
  SymInt quotient = 0, remainder = dividend;
  for (int step = 0; step < kMaxSteps; ++step) {
    SymInt part = 0;
    for (const Term& term : remainder.terms()) {
      if (term.coefficient % lead.coefficient != 0) continue;
      auto factor = remove_atoms(term.atoms, lead.atoms);
      if (!factor) continue;
      part = from_term(term.coefficient / lead.coefficient, std::move(*factor));
      break;
    }
    if (part.is(0)) break;
    quotient = quotient + part;
    remainder = remainder - part * divisor;
  }
  // Otherwise it only trades terms for others.
  if (remainder.terms().size() < dividend.terms().size()) return {quotient, remainder};
  return {0, dividend};
}

// A coefficient and atoms: what terms may have in common.
struct Monomial {
  int64_t coefficient;
  std::vector<AtomPtr> atoms;
  SymInt value() const { return from_term(coefficient, atoms); }
  bool is_one() const { return coefficient == 1 && atoms.empty(); }
};

Monomial common(const Monomial& a, const Monomial& b) {
  Monomial result{std::gcd(a.coefficient, b.coefficient), {}};
  std::set_intersection(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                        std::back_inserter(result.atoms),
                        [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(x, y) < 0; });
  return result;
}

Monomial common_factor(const SymInt& value) {
  if (value.is_const()) return {value.constant(), {}};
  Monomial result{value.terms().front().coefficient, value.terms().front().atoms};
  for (const Term& term : value.terms()) result = common(result, {term.coefficient, term.atoms});
  if (value.constant() != 0) result = common(result, {value.constant(), {}});
  result.coefficient = std::abs(result.coefficient);
  return result;
}

// Gives the factors of the divisor that the dividend's terms share, the largest first.
std::vector<Monomial> shared_factors(const SymInt& dividend, const SymInt& divisor) {
  constexpr size_t kMaxFactors = 24;
  const Monomial content = common_factor(divisor);
  std::vector<Monomial> found;
  const auto insert = [&](Monomial factor) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Monomial& other) {
      return other.coefficient == factor.coefficient && same_atoms(other.atoms, factor.atoms);
    });
    if (!factor.is_one() && !known && found.size() < kMaxFactors)
      found.push_back(std::move(factor));
  };
  for (const Term& term : dividend.terms()) insert(common(content, {term.coefficient, term.atoms}));
  for (size_t i = 1; i < found.size(); ++i)
    for (size_t j = 0; j < i; ++j) insert(common(found[i], found[j]));
  std::sort(found.begin(), found.end(), [](const Monomial& a, const Monomial& b) {
    if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size();
    return a.coefficient > b.coefficient;
  });
  return found;
}

// The quotient, where the ranges leave only one.
std::optional<int64_t> quotient_by_range(const SymInt& dividend, const SymInt& divisor) {
  const Interval range = floordiv(dividend.range(), divisor.range());
  if (range.lo == range.hi && bounded_below(range) && bounded_above(range)) return range.lo;
  if (surely_within(dividend, divisor)) return 0;
  return std::nullopt;
}

// dividend = factor*scaled + rest with 0 <= rest < factor, and divisor = factor*divisor_rest.
struct Split {
  SymInt factor, scaled, rest, divisor_rest;
};

std::optional<Split> split(const SymInt& dividend, const SymInt& divisor) {
  for (const Monomial& factor : shared_factors(dividend, divisor)) {
    const SymInt value = factor.value();
    auto [scaled, rest] = divide(dividend, value);
    if (factor.atoms.empty()) {
      const auto shift = quotient_by_range(rest, value);
      if (!shift) continue;
      rest = rest - *shift * value;
      scaled = scaled + *shift;
    } else if (!surely_within(rest, value)) {
      continue;
    }
    return Split{value, scaled, rest, divide(divisor, value).quotient};
  }
  return std::nullopt;
}

// Terms m*A*(x % d) of `dividend` where the divisor divides m*A*d may lose their remainder.
struct OpenedMod {
  SymInt opened;    // the dividend with m*A*x instead
  SymInt multiple;  // m*A*d / divisor
  SymInt dividend, modulus;
};

std::optional<OpenedMod> open_mod(const SymInt& dividend, const SymInt& divisor,
                                  bool only_if_shorter) {
  for (const Term& term : dividend.terms())
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind != Atom::Kind::mod) continue;
      const SymInt factor = from_term(term.coefficient, *remove_atoms(term.atoms, {atom}));
      const auto multiple = divide_exactly(factor * atom->args[1], divisor);
      if (!multiple) continue;
      const SymInt opened =
          dividend - from_term(term.coefficient, term.atoms) + factor * atom->args[0];
      if (only_if_shorter && opened.terms().size() >= dividend.terms().size()) continue;
      return OpenedMod{opened, *multiple, atom->args[0], atom->args[1]};
    }
  return std::nullopt;
}

std::optional<SymInt> product_if_fits(const SymInt& a, const SymInt& b) {
  if (!a.is_const() || !b.is_const()) return a * b;
  const auto product = checked_mul(a.constant(), b.constant());
  if (!product) return std::nullopt;
  return SymInt(*product);
}

// (x//d + rest) // divisor = (x + d*rest) // (d*divisor): one division instead of two.
std::optional<SymInt> merge_floordivs(const SymInt& dividend, const SymInt& divisor) {
  struct Candidate {
    SymInt merged;
    SymInt inner_divisor;
  };
  std::vector<Candidate> candidates;
  for (const Term& term : dividend.terms()) {
    const bool is_floordiv = term.coefficient == 1 && term.atoms.size() == 1 &&
                             term.atoms.front()->kind == Atom::Kind::floordiv;
    if (!is_floordiv) continue;
    const SymInt &x = term.atoms.front()->args[0], &d = term.atoms.front()->args[1];
    const SymInt rest = dividend - SymIntAccess::from_atom(term.atoms.front());
    if (d.is_const() || rest.is(0)) candidates.push_back({x + d * rest, d});
  }
  for (const Candidate& candidate : candidates) {
    // Among several, one is taken whose parts come together again.
    const bool shorter = candidate.merged.terms().size() < dividend.terms().size();
    if (candidates.size() > 1 && !shorter) continue;
    const auto both = product_if_fits(candidate.inner_divisor, divisor);
    if (both) return ir::floordiv(candidate.merged, *both);
  }
  return std::nullopt;
}

// (m*(x % d) + t) // divisor = (m*x + t) // divisor % (m*d / divisor), where the dividend is in [0,
// m*d): the remainder outside, where it meets the others of a reshape.
std::optional<SymInt> floordiv_of_mod(const SymInt& dividend, const SymInt& divisor) {
  const auto open = open_mod(dividend, divisor, /*only_if_shorter=*/false);
  if (!open || !surely_within(dividend, open->multiple * divisor)) return std::nullopt;
  return ir::mod(ir::floordiv(open->opened, divisor), open->multiple);
}

// A symbolic divisor may turn out to be 0 once the user's sizes are known.
void check_divisor(const SymInt& dividend, const SymInt& divisor) {
  if (divisor.is_const() && divisor.constant() <= 0)
    fail_input("'", dividend, "' is divided by ", divisor, ", which is not positive");
}

}  // namespace

Division divide(const SymInt& dividend, const SymInt& divisor) {
  if (divisor.is_const()) return divide_by_constant(dividend, divisor.constant());
  if (divisor.constant() == 0 && divisor.terms().size() == 1)
    return divide_by_term(dividend, divisor.terms().front());
  return divide_by_sum(dividend, divisor);
}

std::optional<SymInt> divide_exactly(const SymInt& dividend, const SymInt& divisor) {
  Division division = divide(dividend, divisor);
  if (!division.remainder.is(0)) return std::nullopt;
  return std::move(division.quotient);
}

}  // namespace symint

SymInt floordiv(const SymInt& a, const SymInt& b) {
  symint::check_divisor(a, b);
  if (b.is(1) || a.is(0)) return a;
  if (a.is_const() && b.is_const()) return symint::floor_div(a.constant(), b.constant());
  if (auto quotient = symint::quotient_by_range(a, b)) return *quotient;
  const auto [quotient, rest] = symint::divide(a, b);
  if (!quotient.is(0)) return quotient + floordiv(rest, b);
  if (auto digit = symint::floordiv_of_mod(a, b)) return *digit;
  if (const auto split = symint::split(a, b)) return floordiv(split->scaled, split->divisor_rest);
  if (const auto open = symint::open_mod(a, b, /*only_if_shorter=*/true))
    return floordiv(open->opened, b) - open->multiple * floordiv(open->dividend, open->modulus);
  if (auto merged = symint::merge_floordivs(a, b)) return *merged;
  return symint::make_atom(Atom::Kind::floordiv, a, b);
}

SymInt mod(const SymInt& a, const SymInt& b) {
  symint::check_divisor(a, b);
  if (b.is(1) || a.is(0)) return 0;
  if (a.is_const() && b.is_const()) return symint::floor_mod(a.constant(), b.constant());
  if (auto quotient = symint::quotient_by_range(a, b)) return a - *quotient * b;
  const auto [quotient, rest] = symint::divide(a, b);
  if (!quotient.is(0)) return mod(rest, b);
  if (const auto open = symint::open_mod(a, b, /*only_if_shorter=*/false))
    return mod(open->opened, b);
  if (const auto split = symint::split(a, b))
    return split->factor * mod(split->scaled, split->divisor_rest) + split->rest;
  return symint::make_atom(Atom::Kind::mod, a, b);
}

SymInt ceildiv(const SymInt& a, const SymInt& b) { return floordiv(a + b - 1, b); }

}  // namespace tcc::ir
