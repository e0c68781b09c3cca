// Sums in which a remainder meets the quotient that it was split from.
#include <algorithm>

#include "ir/symint_internal.h"
#include "support/checked.h"

namespace tcc::ir::symint {

namespace {

SymInt atom_value(const AtomPtr& atom) { return SymIntAccess::from_atom(atom); }

// m*A*(x % c): one way of reading a term.
struct ModTerm {
  const Term& term;
  const AtomPtr& atom;
  std::vector<AtomPtr> others;  // A
  const SymInt& dividend() const { return atom->args[0]; }
  const SymInt& modulus() const { return atom->args[1]; }
  SymInt factor() const { return from_term(term.coefficient, others); }
};

// Gives factor*(x % c) + factor*c*other as factor*result, or nothing.
std::optional<SymInt> join(const ModTerm& term, const AtomPtr& other) {
  const SymInt &x = term.dividend(), &c = term.modulus();
  const SymInt &y = other->args[0], &d = other->args[1];
  if (other->kind == Atom::Kind::floordiv) {
    if (d == c && (y == x || mod(y, c) == atom_value(term.atom))) return y;
    if (floordiv(x, c) == atom_value(other)) return x;
    return std::nullopt;
  }
  if (c.is_const() && d.is_const() && !checked_mul(c.constant(), d.constant())) return std::nullopt;
  // Always true: x % c + c*(y % d) = (x + c*(y - x//c)) % (c*d). Worth it where the division
  // cancels.
  const SymInt rest = y - floordiv(x, c);
  if (rest.terms().size() >= y.terms().size()) return std::nullopt;
  return mod(x + c * rest, c * d);
}

// m*A*(x % c) + m*A*c*division, as terms; nothing when it overflows.
std::optional<std::vector<Term>> pair_of(const ModTerm& mod_term, const AtomPtr& division) {
  const std::vector<AtomPtr> atoms = join_atoms(mod_term.others, {division});
  std::vector<Term> pair{mod_term.term};
  const auto add = [&](int64_t coefficient, const std::vector<AtomPtr>& factors) {
    const auto product = checked_mul(mod_term.term.coefficient, coefficient);
    if (product) pair.push_back({*product, join_atoms(atoms, factors)});
    return product.has_value();
  };
  const SymInt& modulus = mod_term.modulus();
  if (modulus.constant() != 0 && !add(modulus.constant(), {})) return std::nullopt;
  for (const Term& term : modulus.terms())
    if (!add(term.coefficient, term.atoms)) return std::nullopt;
  normalize(pair);
  return pair;
}

// `sum` without the terms of `part`; nothing when they are not there with these coefficients.
std::optional<std::vector<Term>> take_out(const std::vector<Term>& sum,
                                          const std::vector<Term>& part) {
  std::vector<Term> rest;
  rest.reserve(sum.size());
  size_t taken = 0;
  for (const Term& term : sum) {
    const bool next = taken < part.size() && compare_terms(term, part[taken]) == 0;
    if (next && term.coefficient != part[taken].coefficient) return std::nullopt;
    if (next)
      ++taken;
    else
      rest.push_back(term);
  }
  if (taken < part.size()) return std::nullopt;
  return rest;
}

// Returns whether `atoms` holds every one of `part` and `extra`, all sorted; without copying.
bool contains(const std::vector<AtomPtr>& atoms, const std::vector<AtomPtr>& part,
              const AtomPtr& extra) {
  size_t next = 0;
  bool need_extra = true;
  for (const AtomPtr& atom : atoms) {
    if (next < part.size() && compare_atoms(atom, part[next]) == 0)
      ++next;
    else if (need_extra && atom == extra)
      need_extra = false;
  }
  return next == part.size() && !need_extra;
}

// Cheap tests before the algebra: `other` may be a term of m*A*c*division.
bool may_match(const Term& other, const ModTerm& mod_term) {
  const int64_t m = mod_term.term.coefficient;
  if (other.coefficient % m != 0 || other.atoms.size() <= mod_term.others.size()) return false;
  if (!mod_term.modulus().is_const()) return true;
  return other.coefficient / m == mod_term.modulus().constant() &&
         other.atoms.size() == mod_term.others.size() + 1;
}

std::optional<SymInt> recombine_with(const ModTerm& mod_term, const Term& other, int64_t constant,
                                     const std::vector<Term>& terms) {
  if (!has_division(other) || !may_match(other, mod_term)) return std::nullopt;
  for (const AtomPtr& division : other.atoms) {
    if (division->kind != Atom::Kind::floordiv && division->kind != Atom::Kind::mod) continue;
    if (!contains(other.atoms, mod_term.others, division)) continue;
    const auto pair = pair_of(mod_term, division);
    if (!pair) continue;
    auto rest = take_out(terms, *pair);
    if (!rest) continue;
    if (const auto joined = join(mod_term, division))
      return SymIntAccess::from_terms(constant, std::move(*rest)) + mod_term.factor() * *joined;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SymInt> recombine(int64_t constant, const std::vector<Term>& terms) {
  if (std::count_if(terms.begin(), terms.end(), has_division) < 2) return std::nullopt;
  for (const Term& term : terms)
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind != Atom::Kind::mod) continue;
      const ModTerm mod_term{term, atom, *remove_atoms(term.atoms, {atom})};
      for (const Term& other : terms)
        if (&other != &term)
          if (auto simpler = recombine_with(mod_term, other, constant, terms)) return simpler;
    }
  return std::nullopt;
}

}  // namespace tcc::ir::symint
