// Integer expressions of a mask as sums of axes and of a number that is loaded: `i + past`.
#pragma once

#include <functional>
#include <optional>

#include "ir/expr.h"

namespace tcc::sched {

// The value is `axes` plus `number`, as integers that do not wrap, where `safe` holds. Elsewhere
// the expression's own arithmetic may have wrapped, and the sum says nothing.
struct IndexSum {
  ir::SymInt axes = 0;
  ir::Expr number = nullptr;     // of i64; null: there is none
  ir::Interval within = {0, 0};  // values of the number where `safe` holds
  bool is_any = false;           // the number may be any i64: nothing was added to it
  ir::Expr safe = nullptr;       // a condition of loaded numbers; null: it always holds

  // The number where it differs by no more than `far` from 0, and else one that is further away.
  ir::Expr clamped_number(int64_t far) const;
};

// Returns the sum, or nothing: `is_number` says which expressions are numbers, those that do not
// depend on the axes that matter.
std::optional<IndexSum> index_sum(const ir::Expr& e,
                                  const std::function<bool(const ir::Expr&)>& is_number);

// Returns a - b, or nothing.
std::optional<IndexSum> difference(IndexSum a, IndexSum b);

}  // namespace tcc::sched
