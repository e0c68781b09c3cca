#include "scheduler/templates/needless_nan.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;
using ir::ReduceKind;
using Kind = ExprNode::Kind;
using Leaf = std::function<bool(const ExprNode&)>;

// Whether a NaN among the operands makes the result NaN.
bool passes_nan(Fn fn) {
  switch (fn) {
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::fma:
    case Fn::neg:
    case Fn::abs:
    case Fn::minimum:
    case Fn::maximum:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::exp:
    case Fn::exp2:
    case Fn::expm1:
    case Fn::log:
    case Fn::log2:
    case Fn::log10:
    case Fn::log1p: return true;
    default: return false;
  }
}

bool passes_nan(const ExprNode& e) {
  if (e.kind == Kind::cast) return is_float(e.dtype) && is_float(e.args[0]->dtype);
  return e.kind == Kind::call && is_float(e.dtype) && passes_nan(e.fn);
}

// The nodes of expressions that leaves make NaN, and those that depend on what changes. Expressions
// share nodes, each of which is asked once: leaves are asked when a node is first met.
class NodesOf {
 public:
  NodesOf(Leaf is_nan, Leaf is_changed)
      : is_nan_(std::move(is_nan)), is_changed_(std::move(is_changed)) {}

  bool are_nan(const Expr& e) { return find(e), nan_.contains(e.get()); }
  bool are_changed(const Expr& e) { return find(e), changed_.contains(e.get()); }

 private:
  void find(const Expr& e) {
    if (!done_.insert(e.get()).second) return;
    bool has_nan = is_nan_(*e), has_changed = is_changed_(*e);
    for (const Expr& operand : e->args) {
      find(operand);
      has_nan |= passes_nan(*e) && nan_.contains(operand.get());
      has_changed |= changed_.contains(operand.get());
    }
    e->index.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind != ir::Atom::Kind::indirect || !atom->value) return;
      find(atom->value);
      has_changed |= changed_.contains(atom->value.get());
    });
    if (has_nan) nan_.insert(e.get());
    if (has_changed) changed_.insert(e.get());
  }

  const Leaf is_nan_, is_changed_;
  std::unordered_set<const ExprNode*> done_, nan_, changed_;
};

// Whether a row that has a NaN is stored alike whatever its maximum is.
bool is_needless(const std::vector<ReductionPlan::Reduction>& reductions, size_t max,
                 const std::vector<Expr>& elements, const std::vector<Expr>& outputs) {
  std::unordered_set<uint64_t> nan, changed = {reductions[max].result.id};
  const auto is_in = [](const std::unordered_set<uint64_t>& results) {
    return [&results](const ExprNode& e) {
      return e.kind == Kind::var && results.contains(e.variable.id);
    };
  };
  // In the column of the NaN.
  NodesOf column([&](const ExprNode& e) { return &e == elements[max].get() || is_in(nan)(e); },
                 is_in(changed));
  for (size_t i = 0; i < reductions.size(); ++i) {
    if (i == max) continue;
    const ReduceKind kind = *reductions[i].node->op->reduction;
    const bool keeps = kind == ReduceKind::sum || kind == ReduceKind::prod ||
                       kind == ReduceKind::max || kind == ReduceKind::min;
    const ir::Variable& result = reductions[i].result;
    if (keeps && is_float(result.dtype) && column.are_nan(elements[i]))
      nan.insert(result.id);
    else if (column.are_changed(elements[i]))
      changed.insert(result.id);
  }
  NodesOf anywhere(is_in(nan), is_in(changed));
  return std::ranges::all_of(outputs, [&](const Expr& output) {
    return !anywhere.are_changed(output) || anywhere.are_nan(output);
  });
}

}  // namespace

int find_needless_nan(const std::vector<ReductionPlan::Reduction>& reductions,
                      const std::vector<Expr>& elements, const std::vector<Expr>& outputs) {
  for (size_t i = 0; i < reductions.size(); ++i)
    if (*reductions[i].node->op->reduction == ReduceKind::max &&
        reductions[i].result.dtype == DType::f32 && elements[i]->dtype == DType::f32 &&
        is_needless(reductions, i, elements, outputs))
      return static_cast<int>(i);
  return -1;
}

}  // namespace tcc::sched
