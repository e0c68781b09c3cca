#include "scheduler/index_range.h"

#include <algorithm>

#include "support/checked.h"

namespace tcc::sched {
namespace {

constexpr int64_t kMostInt32 = INT32_MAX;

// The largest magnitude of a sum's partial results; nothing where an atom's range is not known. A
// size without a largest value may be any.
std::optional<int64_t> magnitude(const SymInt& value) {
  std::optional<int64_t> total = std::abs(value.constant());
  for (const SymInt::Term& term : value.terms()) {
    std::optional<int64_t> product = std::abs(term.coefficient);
    for (const ir::AtomPtr& atom : term.atoms) {
      if (atom->range.lo <= -ir::kUnbounded || atom->range.hi >= ir::kUnbounded)
        return atom->kind == ir::Atom::Kind::symbol ? std::optional(INT64_MAX) : std::nullopt;
      const int64_t most = std::max(std::abs(atom->range.lo), std::abs(atom->range.hi));
      product = product ? checked_mul(*product, most) : product;
    }
    total = total && product ? checked_add(*total, *product) : std::nullopt;
    if (!total) return INT64_MAX;
  }
  return total;
}

bool is_large(const SymInt& value) {
  if (magnitude(value).value_or(0) > kMostInt32) return true;
  bool large = false;
  value.visit_atoms([&](const ir::AtomPtr& atom) {
    for (const SymInt& arg : atom->args) large = large || magnitude(arg).value_or(0) > kMostInt32;
  });
  return large;
}

// Indices as values, and the offsets of loads.
bool is_large(const Expr& value) {
  bool large = false;
  if (value) ir::visit(value, [&](const Expr& e) { large = large || is_large(e->index); });
  return large;
}

bool is_large(const Block& block) {
  return std::ranges::any_of(block, [](const Stmt& stmt) {
    return is_large(stmt.index) || is_large(stmt.value) || is_large(stmt.body) ||
           is_large(stmt.otherwise);
  });
}

}  // namespace

bool leaves_32_bits(const Kernel& kernel) {
  return is_large(kernel.body) ||
         std::ranges::any_of(kernel.hooks, [](const Hook& hook) { return is_large(hook.body); });
}

namespace {

int64_t most_of(const SymInt& value);

// The largest value of an atom that is not negative; INT64_MAX where none is known.
int64_t most_of(const ir::Atom& atom) {
  using Kind = ir::Atom::Kind;
  if (atom.range.lo < 0) return INT64_MAX;
  int64_t most = atom.range.hi >= ir::kUnbounded ? INT64_MAX : atom.range.hi;
  if (atom.kind == Kind::axis && atom.role == ir::AxisRole::parameter)
    most = std::min(most, kMostInt32);
  if (atom.kind == Kind::min) most = std::min({most, most_of(atom.args[0]), most_of(atom.args[1])});
  if (atom.kind == Kind::floordiv && atom.args[1].is_const() && atom.args[1].value() > 0)
    most = std::min(most, most_of(atom.args[0]) / atom.args[1].value());
  return most;
}

int64_t most_of(const SymInt& value) {
  std::optional<int64_t> total = std::abs(value.constant());
  for (const SymInt::Term& term : value.terms()) {
    std::optional<int64_t> product = std::abs(term.coefficient);
    for (const ir::AtomPtr& atom : term.atoms)
      product = product ? checked_mul(*product, most_of(*atom)) : product;
    total = total && product ? checked_add(*total, *product) : std::nullopt;
  }
  return total.value_or(INT64_MAX);
}

}  // namespace

bool fits_32_bits(const SymInt& value) { return most_of(value) <= kMostInt32; }

int64_t coefficient(const SymInt& offset, const SymInt& axis) {
  if (axis.is_const()) return 0;
  for (const auto& term : offset.terms())
    if (term.atoms.size() == 1 && term.atoms[0]->id == axis.as_atom()->id) return term.coefficient;
  return offset.uses(axis.as_atom()) ? -1 : 0;
}

SymInt unclamped(const SymInt& offset) {
  return offset.substitute([](const ir::AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != ir::Atom::Kind::min && atom->kind != ir::Atom::Kind::max) return std::nullopt;
    for (const int k : {0, 1})
      if (atom->args[static_cast<size_t>(k)].is_const())
        return unclamped(atom->args[static_cast<size_t>(1 - k)]);
    return std::nullopt;
  });
}

}  // namespace tcc::sched
