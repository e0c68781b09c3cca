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

// Returns whether `e` is NaN where what is a `leaf` is NaN.
bool is_nan_of(const Expr& e, const Leaf& leaf) {
  std::unordered_set<const ExprNode*> found;
  ir::visit(e, [&](const Expr& node) {
    const bool passes =
        passes_nan(*node) && std::ranges::any_of(node->args, [&](const Expr& operand) {
          return found.contains(operand.get());
        });
    if (passes || leaf(*node)) found.insert(node.get());
  });
  return found.contains(e.get());
}

// The knowledge of a row that has a NaN, where its maximum may be any number.
class RowWithNan {
 public:
  RowWithNan(const ir::Variable& max, const Expr& reduced) : reduced_(reduced) {
    changed_.insert(max.id);
  }

  void add(const ReductionPlan::Reduction& reduction, const Expr& element) {
    const ReduceKind kind = *reduction.node->op->reduction;
    const bool keeps = kind == ReduceKind::sum || kind == ReduceKind::prod ||
                       kind == ReduceKind::max || kind == ReduceKind::min;
    if (keeps && is_float(reduction.result.dtype) && is_nan(element))
      nan_.insert(reduction.result.id);
    else if (depends_on_changed(element))
      changed_.insert(reduction.result.id);
  }

  bool stays(const Expr& output) const {
    return !depends_on_changed(output) ||
           is_nan_of(output, [&](const ExprNode& e) { return is_nan_result(e); });
  }

 private:
  // In the column of the NaN.
  bool is_nan(const Expr& element) const {
    return is_nan_of(element, [&](const ExprNode& e) {
      return &e == reduced_.get() || is_nan_result(e);
    });
  }
  bool is_nan_result(const ExprNode& e) const {
    return e.kind == Kind::var && nan_.contains(e.variable.id);
  }
  bool depends_on_changed(const Expr& value) const {
    bool depends = false;
    ir::visit(value, [&](const Expr& e) {
      depends |= e->kind == Kind::var && changed_.contains(e->variable.id);
    });
    return depends;
  }

  const Expr reduced_;
  std::unordered_set<uint64_t> nan_;      // results that are NaN
  std::unordered_set<uint64_t> changed_;  // results that the maximum changes
};

bool is_needless(const std::vector<ReductionPlan::Reduction>& reductions, size_t max,
                 const std::vector<Expr>& elements, const std::vector<Expr>& outputs) {
  RowWithNan row(reductions[max].result, elements[max]);
  for (size_t i = 0; i < reductions.size(); ++i)
    if (i != max) row.add(reductions[i], elements[i]);
  return std::ranges::all_of(outputs, [&](const Expr& output) { return row.stays(output); });
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
