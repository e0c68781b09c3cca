// The axes that indices and expressions depend on.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/expr.h"

namespace tcc::sched {

using AxisSet = std::unordered_set<ir::AtomPtr, ir::AtomHash, ir::AtomEqual>;

// Finds the axes that an expression depends on. It caches its answers, and keeps the expressions
// alive.
class AxisUse {
 public:
  struct Axes {
    AxisSet free;   // that it depends on and does not bind itself
    AxisSet bound;  // of its reductions
  };

  const Axes& of(const ir::Expr& e);
  Axes of(const ir::SymInt& index);

 private:
  std::unordered_map<ir::Expr, Axes> memo_;
};

}  // namespace tcc::sched
