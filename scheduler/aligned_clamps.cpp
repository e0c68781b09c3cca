#include "scheduler/aligned_clamps.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tcc::sched {
namespace {

using ir::Atom;
using ir::AtomPtr;
using ir::Expr;
using ir::ExprNode;
using ir::Fn;
using ir::SymInt;

// Bounds of an index where an arm of a select is taken.
struct Known {
  SymInt index;
  ir::Interval range;
};

// A bound by a number: min or max.
struct Clamp {
  Atom::Kind kind;
  int64_t bound;
};

class Aligned {
 public:
  explicit Aligned(const SymInt& lane) : lane_(lane), width_(ir::extent_of(lane).value()) {}

  // The select with a condition of whole vectors, or null.
  Expr select(const ExprNode& e, const std::vector<Known>& outside) const {
    if (e.kind != ExprNode::Kind::call || e.fn != Fn::select) return nullptr;
    const ExprNode& condition = *e.args[0];
    if (condition.kind != ExprNode::Kind::call || condition.fn != Fn::lt) return nullptr;
    const ExprNode &a = *condition.args[0], &b = *condition.args[1];
    const std::optional<int64_t> bound = constant_of(b);
    if (a.kind != ExprNode::Kind::index || !bound || *bound % width_ != 0) return nullptr;
    const SymInt index = without_effectless(a.index, outside);
    const std::optional<SymInt> first = first_of(index);
    if (!first) return nullptr;
    std::vector<Known> below = outside, above = outside;
    below.push_back({index, {-ir::kUnbounded, *bound - 1}});
    above.push_back({index, {*bound, ir::kUnbounded}});
    return ir::select(ir::index_less(*first, *bound), arm(e.args[1], below), arm(e.args[2], above));
  }

 private:
  static std::optional<int64_t> constant_of(const ExprNode& e) {
    if (e.kind == ExprNode::Kind::constant) return e.integer;
    if (e.kind == ExprNode::Kind::index && e.index.is_const()) return e.index.value();
    return std::nullopt;
  }

  // The index of a condition inside of its clamps, where they take no effect.
  static SymInt without_effectless(const SymInt& index, const std::vector<Known>& known) {
    std::vector<Clamp> clamps;
    const auto inside = strip(atom_of(index), index.constant(), clamps);
    return inside && takes_no_effect(*inside, clamps, known) ? *inside : index;
  }

  // The index of lane 0, of lanes that are neighbours and begin at whole vectors.
  std::optional<SymInt> first_of(const SymInt& index) const {
    const SymInt first = index.substitute(lane_, 0);
    if (!(index - first == lane_) || !begins_vector(first, width_)) return std::nullopt;
    return first;
  }

  Expr arm(const Expr& e, const std::vector<Known>& known) const {
    return ir::rewrite(e, [&](const Expr& node) -> Expr {
      if (node->kind == ExprNode::Kind::load)
        return ir::load(node->buffer, node->stored, without_clamps(node->index, known));
      return select(*node, known);
    });
  }

  SymInt without_clamps(const SymInt& index, const std::vector<Known>& known) const {
    return index.substitute([&](const AtomPtr& atom) { return of_vectors(atom, known); });
  }

  // The index with clamps of whole vectors, where those that it has take no effect.
  std::optional<SymInt> of_vectors(const AtomPtr& atom, const std::vector<Known>& known) const {
    std::vector<Clamp> clamps;
    const std::optional<SymInt> inside = strip(atom, 0, clamps);
    if (!inside) return std::nullopt;
    const std::optional<SymInt> first = first_of(*inside);
    if (!first || !takes_no_effect(*inside, clamps, known)) return std::nullopt;
    SymInt moved = *first;
    for (size_t i = clamps.size(); i-- > 0;) {
      const auto [kind, bound] = clamps[i];
      const bool is_max = kind == Atom::Kind::max;
      const int64_t whole = is_max ? bound : bound + 1 - width_;
      if (whole % width_ != 0) return std::nullopt;
      moved = is_max ? ir::max(moved, whole) : ir::min(moved, whole);
    }
    const ir::Interval range = moved.range();
    if (range.lo < atom->range.lo || range.hi + width_ - 1 > atom->range.hi) return std::nullopt;
    return moved + lane_;
  }

  // The atom of which the index differs by a number, or null.
  static AtomPtr atom_of(const SymInt& index) { return (index - index.constant()).as_atom(); }

  // The index inside of bounds by numbers, which `clamps` gets, outermost first: that of the atom
  // plus a number. Nothing where there are none.
  static std::optional<SymInt> strip(const AtomPtr& atom, int64_t plus,
                                     std::vector<Clamp>& clamps) {
    if (!atom || (atom->kind != Atom::Kind::min && atom->kind != Atom::Kind::max))
      return std::nullopt;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      if (!atom->args[k].is_const()) continue;
      clamps.push_back({atom->kind, atom->args[k].value() + plus});
      const SymInt inside = atom->args[1 - k] + plus;
      return strip(atom_of(inside), inside.constant(), clamps).value_or(inside);
    }
    return std::nullopt;
  }

  static bool takes_no_effect(const SymInt& inside, const std::vector<Clamp>& clamps,
                              const std::vector<Known>& known) {
    ir::Interval range = inside.range();
    for (const Known& one : known) {
      const SymInt distance = inside - one.index;
      if (!distance.is_const()) continue;
      if (one.range.lo > -ir::kUnbounded)
        range.lo = std::max(range.lo, one.range.lo + distance.value());
      if (one.range.hi < ir::kUnbounded)
        range.hi = std::min(range.hi, one.range.hi + distance.value());
    }
    for (const auto& [kind, bound] : clamps)
      if (kind == Atom::Kind::max ? range.lo < bound : range.hi > bound) return false;
    return true;
  }

  const SymInt& lane_;
  const int64_t width_;
};

}  // namespace

void align_clamps(std::vector<Expr>& values, const SymInt& lane) {
  if (lane.is_const()) return;
  const Aligned aligned(lane);
  ir::rewrite_all(values, [&](const Expr& e) { return aligned.select(*e, {}); });
}

}  // namespace tcc::sched
