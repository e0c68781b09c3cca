// Reductions of the rows of a product's operand, from which the operand's elements are made beside
// elements of their own place, as a norm is before a linear layer. A kernel of few rows reduces
// them itself (gemv).
#pragma once

#include <vector>

#include "scheduler/inline.h"
#include "scheduler/kernel.h"
#include "scheduler/refusal.h"

namespace tcc::sched {

struct ContractionPlan;

struct OperandRows {
  struct Reduction {
    const ir::Node* node;
    ReductionDims dims;
    ir::ReduceKind kind;
    int stage;  // 0 depends on no other reduction
  };
  std::vector<Reduction> reductions;  // by stage; none in most products
  int stages = 0;
  int64_t columns = 0;   // of each row
  bool of_a = true;      // the plan's operand that they are for
  ir::Variable results;  // an array of a row's results, f32, in the order of `reductions`

  bool empty() const { return reductions.empty(); }
  int64_t count() const { return static_cast<int64_t>(reductions.size()); }
};

// Finds the region's reductions. Refuses those whose results are no f32 or indices, and rows of
// different lengths.
OrRefusal<OperandRows> operand_rows(const Region& region);

// Makes the results available as elements of `rows.results`.
void bind_rows(Inliner& inliner, const OperandRows& rows);

// Makes the results unavailable: Inliner::asked_elsewhere tells whether an expression needs one.
void withhold_rows(Inliner& inliner, const OperandRows& rows);

// Sets which operand the rows are for. Returns "" where its elements need the results of one row
// each, whose place does not depend on k, and the other operand needs none; else a reason.
std::string place_rows(const Region& region, ContractionPlan& plan);

// Returns an element of each reduction's input, at `column` of the row that belongs to row `free`
// of the operand, as f32.
std::vector<Expr> row_elements(const Region& region, const ContractionPlan& plan,
                               const SymInt& batch, const SymInt& free, const SymInt& column);

// The neighbours along a row that one call of the hook of parts takes.
int64_t part_width(const OperandRows& rows);

// Hooks of a device source (gemv.cu says how it calls them): what reductions begin with, what a
// part of a row adds to those of a stage, and how threads' results are combined.
Hook start_rows_hook(const OperandRows& rows);
Hook reduce_rows_hook(const Region& region, const ContractionPlan& plan);
Hook combine_rows_hook(const OperandRows& rows);

}  // namespace tcc::sched
