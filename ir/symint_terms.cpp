// Terms and atoms: order, products, canonical text.
#include <algorithm>
#include <limits>

#include "ir/expr.h"
#include "ir/size_range.h"
#include "ir/symint_internal.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::symint {

namespace {

// Nested divisions of repeated operands could grow without bounds: user input must not get that
// far.
constexpr size_t kMaxTextLength = 1 << 14;

// `value`, whose text is `text`, as an operand of // or %: the grammar of parse_symint reads it
// back as one operand.
std::string operand(const SymInt& value, const std::string& text, bool left) {
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

std::string operation_text(Atom::Kind kind, const SymInt& a, const SymInt& b,
                           std::span<const std::string, 2> texts) {
  if (kind == Atom::Kind::min || kind == Atom::Kind::max)
    return std::string(function_name(kind)) + "(" + texts[0] + ", " + texts[1] + ")";
  TCC_CHECK(kind == Atom::Kind::floordiv || kind == Atom::Kind::mod, "not an operation");
  return "(" + operand(a, texts[0], true) + (kind == Atom::Kind::floordiv ? "//" : "%") +
         operand(b, texts[1], false) + ")";
}

SymInt make_atom(Atom::Kind kind, const SymInt& a, const SymInt& b) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->args = {a, b};
  const Interval x = a.range(), y = b.range();
  std::string texts[] = {a.to_string(), b.to_string()};
  if (kind == Atom::Kind::floordiv) {
    atom->range = floordiv(x, y);
  } else if (kind == Atom::Kind::mod) {
    atom->range = mod(x, y);
  } else {
    const int order = texts[1].compare(texts[0]);
    if (order < 0 || (order == 0 && compare(b, a) < 0)) {
      std::swap(texts[0], texts[1]);
      std::swap(atom->args[0], atom->args[1]);
    }
    const bool is_min = kind == Atom::Kind::min;
    atom->range = is_min ? Interval{std::min(x.lo, y.lo), std::min(x.hi, y.hi)}
                         : Interval{std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
  }
  atom->text = operation_text(kind, atom->args[0], atom->args[1], texts);
  if (atom->text.size() > kMaxTextLength) fail_input("size expression is too large");
  return SymIntAccess::from_atom(std::move(atom));
}

SymInt make_axis(std::string name, uint64_t id, AxisRole role, const SymInt& extent) {
  if (extent.is(1)) return 0;
  const int64_t most = extent.range().hi;
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Kind::axis;
  atom->id = id;
  atom->role = role;
  atom->text = name;
  atom->name = std::move(name);
  atom->range = {0, most >= kUnbounded ? kUnbounded : std::max<int64_t>(most - 1, 0)};
  atom->args = {extent};
  return SymIntAccess::from_atom(std::move(atom));
}

SymInt resized_axis(const Atom& atom, const SymInt& extent) {
  return make_axis(atom.name, atom.id, atom.role, extent);
}

SymInt with_value(const Atom& atom, Expr value) {
  auto changed = std::make_shared<Atom>(atom);
  changed->value = std::move(value);
  return SymIntAccess::from_atom(std::move(changed));
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

SymInt bounded_symbol(std::string name, Interval range, int64_t usual) {
  TCC_CHECK(0 <= range.lo && range.lo <= range.hi, "the range of ", name);
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Kind::symbol;
  atom->text = name;
  atom->name = std::move(name);
  atom->range = range;
  atom->usual = usual;
  return SymIntAccess::from_atom(std::move(atom));
}

namespace {

// Atoms of one text.
int compare_identities(const Atom& a, const Atom& b) {
  if (a.kind != b.kind) return symint::order_of(a.kind, b.kind);
  if (const int ids = symint::order_of(a.id, b.id)) return ids;
  if (a.kind == Atom::Kind::axis) return 0;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (const int args = compare(a.args[i], b.args[i])) return args;
  if (!a.value || !b.value) return symint::order_of(a.value != nullptr, b.value != nullptr);
  return compare(a.value, b.value);
}

std::string text_of(const SymInt& value, const std::function<std::string(const Atom&)>& atom) {
  if (value.is_const()) return std::to_string(value.constant());
  std::string text;
  const bool constant_first = value.constant() > 0 && value.terms().front().coefficient < 0;
  if (constant_first) text = std::to_string(value.constant());
  for (const symint::Term& term : value.terms()) {
    if (term.coefficient < 0)
      text += '-';
    else if (!text.empty())
      text += '+';
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      if (i > 0) text += '*';
      text += atom(*term.atoms[i]);
    }
    if (term.coefficient == 1 || term.coefficient == -1) continue;
    const std::string digits = std::to_string(term.coefficient);
    text += '*' + (term.coefficient < 0 ? digits.substr(1) : digits);
  }
  if (value.constant() == 0 || constant_first) return text;
  return text + (value.constant() > 0 ? "+" : "") + std::to_string(value.constant());
}

}  // namespace

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (const int text = a.text.compare(b.text)) return text;
  return compare_identities(a, b);
}

int compare(const SymInt& a, const SymInt& b) {
  const auto x = a.terms(), y = b.terms();
  if (x.data() != y.data()) {
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (const int terms = symint::compare_terms(x[i], y[i])) return terms;
      if (const int factors = symint::order_of(x[i].coefficient, y[i].coefficient)) return factors;
    }
    if (const int sizes = symint::order_of(x.size(), y.size())) return sizes;
  }
  return symint::order_of(a.constant(), b.constant());
}

size_t hash_value(const SymInt& value) {
  size_t hash = std::hash<int64_t>()(value.constant());
  const auto add = [&](size_t more) { hash = hash * 0x9e3779b97f4a7c15u + more; };
  for (const symint::Term& term : value.terms()) {
    add(std::hash<int64_t>()(term.coefficient));
    for (const AtomPtr& atom : term.atoms) add(AtomHash()(atom));
  }
  return hash;
}

// "i0*768+i1-4"; a constant goes first when the first term is negative: "7-i0".
std::string SymInt::to_string() const {
  return text_of(*this, [](const Atom& atom) { return atom.text; });
}

std::string SymInt::to_string(const NameOf& name) const {
  return text_of(*this, [&](const Atom& atom) {
    switch (atom.kind) {
      case Atom::Kind::symbol: return atom.name;
      case Atom::Kind::axis:
      case Atom::Kind::indirect: return name(atom);
      default: break;
    }
    const std::string texts[] = {atom.args[0].to_string(name), atom.args[1].to_string(name)};
    return symint::operation_text(atom.kind, atom.args[0], atom.args[1], texts);
  });
}

}  // namespace tcc::ir
