#include "scheduler/axis_use.h"

namespace tcc::sched {
namespace {

void join(AxisUse::Axes& axes, const AxisUse::Axes& more) {
  axes.free.insert(more.free.begin(), more.free.end());
  axes.bound.insert(more.bound.begin(), more.bound.end());
}

}  // namespace

const AxisUse::Axes& AxisUse::of(const ir::Expr& e) {
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  Axes axes = of(e->index);
  for (const ir::Expr& arg : e->args) join(axes, of(arg));
  for (const ir::SymInt& axis : e->axes) {
    const ir::AtomPtr atom = axis.as_atom();
    if (!atom) continue;
    axes.free.erase(atom);
    axes.bound.insert(atom);
  }
  return memo_[e] = std::move(axes);
}

AxisUse::Axes AxisUse::of(const ir::SymInt& index) {
  Axes axes;
  index.visit_atoms([&](const ir::AtomPtr& atom) {
    if (atom->kind == ir::Atom::Kind::axis) axes.free.insert(atom);
    if (atom->kind == ir::Atom::Kind::indirect && atom->value) join(axes, of(atom->value));
  });
  return axes;
}

}  // namespace tcc::sched
