// Terms and atoms: order, products, canonical text.
#include <algorithm>
#include <limits>

#include "ir/expr.h"
#include "ir/symint_internal.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::symint {

namespace {

// Nested divisions of repeated operands could grow without bounds: user input must not get that
// far.
constexpr size_t kMaxKeyLength = 1 << 14;

// `value` as an operand of // or %: the grammar of parse_symint reads it back as one operand.
std::string operand(const SymInt& value, bool left) {
  std::string text = value.to_string();
  const bool plain = value.is_const() ? value.constant() >= 0 : value.as_atom() != nullptr;
  const bool product = left && value.constant() == 0 && value.terms().size() == 1;
  return plain || product ? text : "(" + text + ")";
}

std::string_view function_name(Atom::Kind kind) { return kind == Atom::Kind::min ? "min" : "max"; }

}  // namespace

namespace {

// The least integer has no negative and traps when divided by -1: no coefficient is it.
int64_t in_range_or_throw(std::optional<int64_t> value) {
  if (!value || *value == std::numeric_limits<int64_t>::min()) fail_input("size overflows");
  return *value;
}

}  // namespace

int64_t add_or_throw(int64_t a, int64_t b) { return in_range_or_throw(checked_add(a, b)); }
int64_t mul_or_throw(int64_t a, int64_t b) { return in_range_or_throw(checked_mul(a, b)); }

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

SymInt make_atom(Atom::Kind kind, const SymInt& a, const SymInt& b) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->args = {a, b};
  const Interval x = a.range(), y = b.range();
  switch (kind) {
    case Atom::Kind::floordiv:
      atom->range = floordiv(x, y);
      atom->key = "(" + operand(a, true) + "//" + operand(b, false) + ")";
      break;
    case Atom::Kind::mod:
      atom->range = mod(x, y);
      atom->key = "(" + operand(a, true) + "%" + operand(b, false) + ")";
      break;
    default: {
      TCC_CHECK(kind == Atom::Kind::min || kind == Atom::Kind::max, "not an operation");
      std::string first = a.to_string(), second = b.to_string();
      if (second < first) {
        std::swap(first, second);
        std::swap(atom->args[0], atom->args[1]);
      }
      const bool is_min = kind == Atom::Kind::min;
      atom->range = is_min ? Interval{std::min(x.lo, y.lo), std::min(x.hi, y.hi)}
                           : Interval{std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
      atom->key = std::string(function_name(kind)) + "(" + first + ", " + second + ")";
    }
  }
  if (atom->key.size() > kMaxKeyLength) fail_input("size expression is too large");
  return SymIntAccess::from_atom(std::move(atom));
}

SymInt renamed_indirect(const Atom& atom, Expr value) {
  const std::string stem = atom.name.substr(0, atom.name.find('_'));
  const std::string suffix = structural_key(value).substr(0, 12);
  return SymInt::indirect(stem + "_" + suffix, std::move(value), atom.range);
}

int compare_atoms(const AtomPtr& a, const AtomPtr& b) {
  return a == b ? 0 : a->key.compare(b->key);
}

int compare_terms(const Term& a, const Term& b) {
  const size_t common = std::min(a.atoms.size(), b.atoms.size());
  for (size_t i = 0; i < common; ++i)
    if (const int order = compare_atoms(a.atoms[i], b.atoms[i])) return order;
  return static_cast<int>(a.atoms.size()) - static_cast<int>(b.atoms.size());
}

bool same_atoms(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(x, y) == 0; });
}

bool has_division(const Term& term) {
  return std::any_of(term.atoms.begin(), term.atoms.end(), [](const AtomPtr& atom) {
    return atom->kind == Atom::Kind::floordiv || atom->kind == Atom::Kind::mod;
  });
}

std::optional<std::vector<AtomPtr>> remove_atoms(const std::vector<AtomPtr>& term,
                                                 const std::vector<AtomPtr>& atoms) {
  if (atoms.size() > term.size()) return std::nullopt;
  std::vector<AtomPtr> rest;
  rest.reserve(term.size() - atoms.size());
  size_t next = 0;
  for (const AtomPtr& atom : term) {
    if (next < atoms.size() && compare_atoms(atom, atoms[next]) == 0)
      ++next;
    else
      rest.push_back(atom);
  }
  if (next < atoms.size()) return std::nullopt;
  return rest;
}

std::vector<AtomPtr> join_atoms(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  std::vector<AtomPtr> result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result),
             [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(x, y) < 0; });
  return result;
}

SymInt from_term(int64_t coefficient, std::vector<AtomPtr> atoms) {
  if (coefficient == 0 || atoms.empty()) return coefficient;
  return SymIntAccess::from_canonical(0, {Term{coefficient, std::move(atoms)}});
}

void normalize(std::vector<Term>& terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return compare_terms(a, b) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term sum = std::move(terms[i++]);
    while (i < terms.size() && compare_terms(sum, terms[i]) == 0)
      sum.coefficient = add_or_throw(sum.coefficient, terms[i++].coefficient);
    if (sum.coefficient != 0) terms[kept++] = std::move(sum);
  }
  terms.resize(kept);
}

}  // namespace tcc::ir::symint

namespace tcc::ir {

// "i0*768+i1-4"; a constant goes first when the first term is negative: "7-i0".
std::string SymInt::to_string() const {
  if (is_const()) return std::to_string(constant_);
  std::string text;
  const bool constant_first = constant_ > 0 && terms_->front().coefficient < 0;
  if (constant_first) text = std::to_string(constant_);
  for (const Term& term : *terms_) {
    if (term.coefficient < 0)
      text += '-';
    else if (!text.empty())
      text += '+';
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i > 0) text += '*';
      text += term.atoms[i]->key;
    }
    if (term.coefficient == 1 || term.coefficient == -1) continue;
    const std::string digits = std::to_string(term.coefficient);
    text += '*' + (term.coefficient < 0 ? digits.substr(1) : digits);
  }
  if (constant_ == 0 || constant_first) return text;
  return text + (constant_ > 0 ? "+" : "") + std::to_string(constant_);
}

}  // namespace tcc::ir
