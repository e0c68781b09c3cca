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
  int64_t runs = 0;           // of a row; an open row is one run
  int64_t run = 0, keep = 0;  // most elements of a run (the last may have fewer), and kept ones
  int64_t sorted = 0;         // of the two sorted runs that become one; 0: nothing is sorted
  bool descending = false;
  DType key{}, index{};  // what keys are compared in; the dtype of the indices
  const ir::Value* x = nullptr;
  const ir::Value* given = nullptr;                       // the indices operand, or null
  const ir::Value *values = nullptr, *indices = nullptr;  // those that are stored, or null

  // Returns the bytes of an element in shared memory while it is sorted.
  int64_t element_bytes() const;
  bool carries_places() const { return indices != nullptr; }
};

// The bytes of a key while it is sorted.
inline int64_t sorted_key_bytes(DType key) { return std::max(4, size_bytes(key)); }

// Analyses a region. Refuses regions other than one sort_runs and the elementwise ops that make its
// operands.
OrRefusal<SortPlan> plan_sort(const Region& region);

}  // namespace tcc::sched
