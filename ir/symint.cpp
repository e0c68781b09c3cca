#include "ir/symint.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

#include "ir/expr.h"
#include "ir/size_range.h"
#include "ir/symint_internal.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {

using symint::Term;

namespace {

// Far beyond any real index; below what takes noticeable time.
constexpr size_t kMaxTerms = 512;
constexpr size_t kMaxProductTerms = 4096;  // terms, before equal ones meet
constexpr size_t kMaxFactors = 64;

// Ids of the axes that every kernel has, and the first of all others.
constexpr uint64_t kBlockId = 1, kThreadId = 2, kFirstId = 16;

std::vector<Term> merge(std::span<const Term> a, std::span<const Term> b) {
  std::vector<Term> result;
  result.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const int order = symint::compare_terms(a[i], b[j]);
    if (order < 0) {
      result.push_back(a[i++]);
    } else if (order > 0) {
      result.push_back(b[j++]);
    } else {
      const int64_t sum = symint::add_or_throw(a[i].coefficient, b[j].coefficient);
      if (sum != 0) result.push_back({sum, a[i].atoms});
      ++i, ++j;
    }
  }
  result.insert(result.end(), a.begin() + static_cast<std::ptrdiff_t>(i), a.end());
  result.insert(result.end(), b.begin() + static_cast<std::ptrdiff_t>(j), b.end());
  return result;
}

bool any_division(std::span<const Term> terms) {
  return std::any_of(terms.begin(), terms.end(), symint::has_division);
}

SymInt scale(const SymInt& value, int64_t factor) {
  if (factor == 0) return 0;
  if (factor == 1) return value;
  if (value.is_const()) return symint::mul_or_throw(value.constant(), factor);
  std::vector<Term> terms(value.terms().begin(), value.terms().end());
  for (Term& term : terms) term.coefficient = symint::mul_or_throw(term.coefficient, factor);
  return SymIntAccess::from_canonical(symint::mul_or_throw(value.constant(), factor),
                                      std::move(terms));
}

using AtomSet = std::unordered_set<AtomPtr, AtomHash, AtomEqual>;

void collect_atoms(const SymInt& value, AtomSet& seen,
                   const std::function<void(const AtomPtr&)>& visit) {
  for (const Term& term : value.terms())
    for (const AtomPtr& atom : term.atoms) {
      if (!seen.insert(atom).second) continue;
      visit(atom);
      if (atom->kind == Atom::Kind::axis) continue;
      for (const SymInt& arg : atom->args) collect_atoms(arg, seen, visit);
    }
}

bool expr_uses(const Expr& value, const AtomPtr& atom) {
  bool found = false;
  visit(value, [&](const Expr& e) { found = found || e->index.uses(atom); });
  return found;
}

// Replaces atoms bottom-up, each distinct one once.
class Substitution {
 public:
  explicit Substitution(const SymInt::Replace& replace) : replace_(replace) {}

  SymInt of(const SymInt& value) {
    bool changed = false;
    for (const Term& term : value.terms())
      for (const AtomPtr& atom : term.atoms) changed |= of(atom).has_value();
    if (!changed) return value;
    SymInt result = value.constant();
    for (const Term& term : value.terms()) {
      std::vector<AtomPtr> kept;
      SymInt factor = 1;
      for (const AtomPtr& atom : term.atoms) {
        const std::optional<SymInt>& by = of(atom);
        if (by)
          factor = factor * *by;
        else
          kept.push_back(atom);
      }
      result = result + factor * symint::from_term(term.coefficient, std::move(kept));
    }
    return result;
  }

 private:
  const std::optional<SymInt>& of(const AtomPtr& atom) {
    if (auto found = memo_.find(atom); found != memo_.end()) return found->second;
    std::optional<SymInt> result = replace_(atom);
    if (!result) result = below(atom);
    return memo_.emplace(atom, std::move(result)).first->second;
  }

  std::optional<SymInt> below(const AtomPtr& atom) {
    switch (atom->kind) {
      case Atom::Kind::symbol: return std::nullopt;
      case Atom::Kind::axis: {
        SymInt extent = of(atom->args[0]);
        if (symint::same_object(extent, atom->args[0])) return std::nullopt;
        return symint::resized_axis(*atom, extent);
      }
      case Atom::Kind::indirect: {
        if (!atom->value) return std::nullopt;
        Expr value = rewrite(
            atom->value, [](const Expr&) { return Expr(); },
            [this](const SymInt& index) { return of(index); });
        if (value == atom->value) return std::nullopt;
        return symint::with_value(*atom, std::move(value));
      }
      default: break;
    }
    SymInt a = of(atom->args[0]), b = of(atom->args[1]);
    if (symint::same_object(a, atom->args[0]) && symint::same_object(b, atom->args[1]))
      return std::nullopt;
    switch (atom->kind) {
      case Atom::Kind::floordiv: return floordiv(a, b);
      case Atom::Kind::mod: return mod(a, b);
      case Atom::Kind::min: return min(a, b);
      default: return max(a, b);
    }
  }

  const SymInt::Replace& replace_;
  std::unordered_map<AtomPtr, std::optional<SymInt>>
      memo_;  // keeps atoms alive: no address comes twice
};

int64_t evaluate_atom(const Atom& atom,
                      const std::function<std::optional<int64_t>(const Atom&)>& lookup) {
  if (atom.args.size() != 2) {
    std::optional<int64_t> value = lookup(atom);
    if (!value) fail_input("unknown dim '", atom.name, "'");
    return *value;
  }
  const int64_t a = atom.args[0].evaluate(lookup), b = atom.args[1].evaluate(lookup);
  if (atom.kind == Atom::Kind::min) return std::min(a, b);
  if (atom.kind == Atom::Kind::max) return std::max(a, b);
  if (b <= 0) fail_input("the divisor '", atom.args[1], "' is ", b, ", not positive");
  return atom.kind == Atom::Kind::floordiv ? symint::floor_div(a, b) : symint::floor_mod(a, b);
}

int64_t largest_power_of_two(int64_t value, int64_t limit) {
  if (value == 0) return limit;
  return std::min(limit,
                  int64_t{1} << std::min(62, std::countr_zero(static_cast<uint64_t>(value))));
}

int64_t atom_power_of_two(const Atom& atom, int64_t limit) {
  // min and max are one of their arguments; x % c differs from x by multiples of c.
  const bool common =
      atom.kind == Atom::Kind::mod || atom.kind == Atom::Kind::min || atom.kind == Atom::Kind::max;
  if (!common) return 1;
  return std::min(atom.args[0].known_power_of_two(limit), atom.args[1].known_power_of_two(limit));
}

}  // namespace

uint64_t new_id() {
  static std::atomic<uint64_t> next{kFirstId};
  return next.fetch_add(1, std::memory_order_relaxed);
}

SymInt SymInt::symbol(std::string name, int64_t usual) {
  return bounded_symbol(std::move(name), {0, kUnbounded}, usual);
}

SymInt SymInt::axis(std::string name, const SymInt& extent, AxisRole role) {
  return symint::make_axis(std::move(name), new_id(), role, extent);
}

SymInt SymInt::standard_axis(AxisRole role, const SymInt& extent) {
  const bool is_block = role == AxisRole::block;
  TCC_CHECK(is_block || role == AxisRole::thread, "not a standard axis");
  return symint::make_axis(is_block ? "block" : "thread", is_block ? kBlockId : kThreadId, role,
                           extent);
}

SymInt SymInt::indirect(std::string name, Expr value, Interval range) {
  TCC_CHECK(range.lo <= range.hi, "the range of ", name);
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Kind::indirect;
  atom->id = new_id();
  atom->text = name;
  atom->name = std::move(name);
  atom->range = range;
  atom->value = std::move(value);
  return from_atom(std::move(atom));
}

SymInt SymInt::from_atom(AtomPtr atom) {
  return SymIntAccess::from_canonical(0, {Term{1, {std::move(atom)}}});
}

SymInt SymInt::from_terms(int64_t constant, std::vector<Term> terms) {
  symint::normalize(terms);
  if (terms.size() > kMaxTerms) fail_input("size expression is too large");
  if (std::optional<SymInt> simpler = symint::recombine(constant, terms)) return *simpler;
  return SymIntAccess::from_canonical(constant, std::move(terms));
}

int64_t SymInt::value() const {
  if (is_const()) return constant_;
  visit_atoms([&](const AtomPtr& atom) {
    if (atom->kind == Atom::Kind::symbol)
      fail_input("the size '", to_string(), "' is open where a number is needed");
  });
  throw InternalError(str(to_string(), " is not constant"));
}

std::span<const Term> SymInt::terms() const {
  return terms_ ? std::span<const Term>(*terms_) : std::span<const Term>();
}

AtomPtr SymInt::as_atom() const {
  if (!terms_ || constant_ != 0 || terms_->size() != 1) return nullptr;
  const Term& term = terms_->front();
  return term.coefficient == 1 && term.atoms.size() == 1 ? term.atoms.front() : nullptr;
}

bool SymInt::divisible_by(int64_t divisor) const {
  TCC_CHECK(divisor != 0, "divisible_by(0)");
  if (constant_ % divisor != 0) return false;
  return std::all_of(terms().begin(), terms().end(),
                     [&](const Term& term) { return term.coefficient % divisor == 0; });
}

int64_t SymInt::known_power_of_two(int64_t limit) const {
  limit = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(limit, 1))));
  int64_t common = largest_power_of_two(constant_, limit);
  for (const Term& term : terms()) {
    int64_t power = largest_power_of_two(term.coefficient, limit);
    for (const AtomPtr& atom : term.atoms) {
      if (power >= common) break;
      power *= atom_power_of_two(*atom, common / power);
    }
    common = std::min(common, power);
  }
  return common;
}

bool SymInt::uses(const AtomPtr& atom) const {
  bool found = false;
  visit_atoms([&](const AtomPtr& candidate) {
    if (found) return;
    found = *candidate == *atom || (candidate->kind == Atom::Kind::indirect && candidate->value &&
                                    expr_uses(candidate->value, atom));
  });
  return found;
}

void SymInt::visit_atoms(const std::function<void(const AtomPtr&)>& visit) const {
  if (is_const()) return;
  AtomSet seen;
  collect_atoms(*this, seen, visit);
}

SymInt SymInt::substitute(const Replace& replace) const {
  return is_const() ? *this : Substitution(replace).of(*this);
}

SymInt SymInt::substitute(const SymInt& atom, const SymInt& by) const {
  const AtomPtr from = atom.as_atom();
  TCC_CHECK(from, atom.to_string(), " is not an atom");
  return substitute([&](const AtomPtr& candidate) {
    return *candidate == *from ? std::optional<SymInt>(by) : std::nullopt;
  });
}

int64_t SymInt::evaluate(const std::function<std::optional<int64_t>(const Atom&)>& lookup) const {
  int64_t sum = constant_;
  for (const Term& term : terms()) {
    int64_t product = term.coefficient;
    for (const AtomPtr& atom : term.atoms)
      product = symint::mul_or_throw(product, evaluate_atom(*atom, lookup));
    sum = symint::add_or_throw(sum, product);
  }
  return sum;
}

int64_t SymInt::usual() const {
  if (is_const()) return constant_;
  return evaluate([](const Atom& atom) { return std::optional(atom.usual); });
}

bool operator==(const SymInt& a, const SymInt& b) {
  return a.constant_ == b.constant_ && compare(a, b) == 0;
}

SymInt extent_of(const SymInt& axis) {
  if (axis.is(0)) return 1;
  const AtomPtr atom = axis.as_atom();
  TCC_CHECK(atom && atom->kind == Atom::Kind::axis, axis, " is not an axis");
  return atom->args[0];
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  const int64_t constant = symint::add_or_throw(a.constant_, b.constant_);
  if (!a.terms_ || !b.terms_) {
    SymInt result = a.terms_ ? a : b;
    result.constant_ = constant;
    return result;
  }
  std::vector<Term> terms = merge(*a.terms_, *b.terms_);
  if (terms.size() > kMaxTerms) fail_input("size expression is too large");
  if (any_division(*a.terms_) && any_division(*b.terms_))
    if (std::optional<SymInt> simpler = symint::recombine(constant, terms)) return *simpler;
  return SymIntAccess::from_canonical(constant, std::move(terms));
}

SymInt operator-(const SymInt& a, const SymInt& b) { return a + -b; }

SymInt operator-(const SymInt& a) { return scale(a, -1); }

SymInt operator*(const SymInt& a, const SymInt& b) {
  if (a.is_const()) return scale(b, a.constant_);
  if (b.is_const()) return scale(a, b.constant_);
  if (a.terms_->size() * b.terms_->size() > kMaxProductTerms)
    fail_input("size expression is too large");
  std::vector<Term> terms;
  terms.reserve((a.terms_->size() + 1) * (b.terms_->size() + 1));
  for (const Term& x : *a.terms_)
    for (const Term& y : *b.terms_) {
      if (x.atoms.size() + y.atoms.size() > kMaxFactors) fail_input("size expression is too large");
      terms.push_back({symint::mul_or_throw(x.coefficient, y.coefficient),
                       symint::join_atoms(x.atoms, y.atoms)});
    }
  const auto add_scaled = [&](const SymInt& value, int64_t factor) {
    if (factor == 0) return;
    for (const Term& term : *value.terms_)
      terms.push_back({symint::mul_or_throw(term.coefficient, factor), term.atoms});
  };
  add_scaled(a, b.constant_);
  add_scaled(b, a.constant_);
  return SymInt::from_terms(symint::mul_or_throw(a.constant_, b.constant_), std::move(terms));
}

SymInt min(const SymInt& a, const SymInt& b) {
  const Interval difference = (a - b).range();
  if (difference.hi <= 0) return a;
  if (difference.lo >= 0) return b;
  return symint::make_atom(Atom::Kind::min, a, b);
}

SymInt max(const SymInt& a, const SymInt& b) {
  const Interval difference = (a - b).range();
  if (difference.lo >= 0) return a;
  if (difference.hi <= 0) return b;
  return symint::make_atom(Atom::Kind::max, a, b);
}

std::ostream& operator<<(std::ostream& out, const SymInt& value) {
  return out << value.to_string();
}

}  // namespace tcc::ir
