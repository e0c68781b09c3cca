// The sort template's analysis of a region.
#pragma once

#include <algorithm>
#include <vector>

#include "scheduler/refusal.h"
#include "scheduler/region.h"

namespace tcc::sched {

struct SortPlan {
  const ir::Node* node = nullptr;  // sort_runs
  size_t dim = 0;
  ir::Shape row_shape;        // of x, without dim
  SymInt rows = 1, extent;    // extent: elements of a row of x
  SymInt runs = 0;            // of a row; of one without elements, one or none
  int64_t run = 0, keep = 0;  // most elements of a run (the last may have fewer), and kept ones
  int64_t sorted = 0;         // of the two sorted runs that become one; 0: nothing is sorted
  bool descending = false;
  DType key{}, index{};  // what keys are compared in; the dtype of the indices
  const ir::Value* x = nullptr;
  const ir::Value* given = nullptr;                       // the indices operand, or null
  const ir::Value *values = nullptr, *indices = nullptr;  // those that are stored, or null

  // A row of open length that no workgroup sorts takes several steps, each a kernel on the results
  // of the one before it (sort_steps). Their number is `steps`, and this is number `step`.
  int64_t step = 0, steps = 1;
  SymInt stride = 0;  // elements of a row between steps
  // Rows as long as they are now are sorted by an earlier step: this one has nothing to do.
  SymInt needed = 1;  // 1 or 0

  // Elements of a row that are left.
  SymInt kept() const;
  // Bytes that it reads and writes, without what computes the keys.
  SymInt bytes() const;
  // Whether the step's results are those of the sort at some sizes, and at all of them.
  bool may_be_last() const { return extent.range().lo <= run; }
  bool is_last() const { return step + 1 == steps; }

  // Returns the bytes of an element in shared memory while it is sorted.
  int64_t element_bytes() const;
  bool carries_places() const { return indices != nullptr; }
};

// The bytes of a key while it is sorted.
inline int64_t sorted_key_bytes(DType key) { return std::max(4, size_bytes(key)); }

// Analyses a region. Refuses regions other than one sort_runs and the elementwise ops that make its
// operands.
OrRefusal<SortPlan> plan_sort(const Region& region);

// The steps of rows of which a workgroup sorts `longest` elements: runs of so many, then merges of
// pairs, or, of a few that are kept, again runs. A row of n elements takes as many as n needs.
std::vector<SortPlan> sort_steps(const SortPlan& plan, int64_t longest);

}  // namespace tcc::sched
