// The scan template's analysis of a region.
#pragma once

#include <vector>

#include "scheduler/inline.h"
#include "scheduler/refusal.h"

namespace tcc::sched {

struct ScanPlan {
  const ir::Node* node = nullptr;
  ir::Shape line_shape;  // of the scan's result, without the dim along which it goes
  size_t dim = 0;
  SymInt lines = 1, length = 1;
  bool along_memory = false;  // neighbours in a line are neighbours in memory
  bool exclusive = false, reverse = false;
  DType dtype{};  // that it is computed in
  struct Output {
    const ir::Value* value;
    StoredThrough stored;
  };
  std::vector<Output> outputs;

  bool is_empty() const { return lines.is(0) || length.is(0); }
  // Returns the index of a position of a line, into the scan's operand and result.
  std::vector<SymInt> index_of(const SymInt& line, const SymInt& position) const;
};

// Analyses a region. Refuses regions other than one scan, the ops that make its operand, and ops on
// each of its elements alone.
OrRefusal<ScanPlan> plan_scan(const Region& region);

// Lets `inliner` read the scan's result, whose element at `index` is `value`.
void bind_scan(Inliner& inliner, const ScanPlan& plan, const std::vector<SymInt>& index,
               const Expr& value);

}  // namespace tcc::sched
