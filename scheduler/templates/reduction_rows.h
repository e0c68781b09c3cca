// The base of all kernels of reductions: where threads stand in rows, how they walk them, how they
// combine what each has found, and how outputs are written. Derived classes compute the results of
// a row.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/target.h"
#include "scheduler/templates/reduction_plan.h"

namespace tcc::sched {

// The variables of a reduction.
struct RowResult {
  ir::ReduceKind kind;
  Variable variable;  // the row's result
  Variable value;     // argmax and argmin: the value that stands there
  Variable lanes;     // one sum per element of a vector
  bool needs_nan;     // as the plan has it

  // One step of a thread; not of argmax and argmin.
  Expr step(const Expr& a, const Expr& b) const;
  const Variable& of_steps() const { return ir::is_arg(kind) ? value : variable; }
  std::vector<Variable> variables() const {
    return ir::is_arg(kind) ? std::vector{value, variable} : std::vector{variable};
  }
};

class ReductionRows {
 public:
  ReductionRows(const Region& region, const ReductionPlan& plan, const Config& config,
                const Target& target);
  virtual ~ReductionRows() = default;
  ReductionRows(const ReductionRows&) = delete;
  ReductionRows& operator=(const ReductionRows&) = delete;

  Kernel lower();

 protected:
  // Computes the results of a row, and keeps of the row what `use_kept` gives the outputs.
  virtual void reduce() = 0;

  bool depends_on_column(const Expr& e) const;
  // All outputs of a row's columns are of 16 bits or fewer.
  bool stores_16_bits() const;
  // The element of an array that keeps a thread's part of a row.
  SymInt cache_index() const { return iteration_ * width_ + v_; }
  // Replaces what earlier stages kept.
  void use_kept(std::vector<Expr>& values, size_t stage) const;

  // Gives what a thread does with its `iteration`-th vector of columns.
  Block vector_of_row(const SymInt& iteration, Block columns, Block otherwise = {}) const;
  // A row in pieces of `step` vectors of each thread: `piece` gets the number of the first vector
  // and their count. All but the last piece are whole, for all threads.
  Block in_pieces(int64_t step, const std::function<Block(const SymInt&, int64_t)>& piece) const;
  // The loop of a kept row of open length, whose vectors are all asked for before the first is
  // used.
  Block loads_first(const Block& columns) const;
  // A row's loop: `columns` is what a thread does with one vector of columns.
  Block over_row(const Block& columns) const;

  void over_threads(ir::ReduceKind kind, const std::vector<Variable>& variables);
  // Shared arrays with the variables of all workgroups of the cluster, by rank. Words are gathered:
  // a smaller type widens.
  std::vector<Variable> gather(const std::vector<Variable>& variables);
  // Combines what all workgroups of the cluster have found, by rank: all get the same bits.
  void over_ranks(ir::ReduceKind kind, const std::vector<Variable>& variables,
                  std::span<const Variable> gathered);

  const Region& region_;
  const ReductionPlan& plan_;
  Inliner inliner_;
  const int64_t width_;
  const int64_t cluster_;        // workgroups that share a row
  const int64_t group_threads_;  // that share a row, of a workgroup
  const int64_t row_threads_;    // of all workgroups
  const int64_t block_rows_;
  const bool cached_;
  // A vector is of neighbouring rows: all threads of a row take each its columns.
  const bool wide_rows_;
  const bool indexed_registers_;
  SymInt row_groups_ = 0;
  SymInt groups_ = 0, iterations_ = 0;  // vectors of a row, and of a thread at most
  SymInt row_, row_group_, raw_row_, lane_, group_, v_, iteration_, col_;
  Block* body_ = nullptr;
  std::vector<std::vector<Expr>> stage_values_;  // what is reduced, by stage
  std::vector<Expr> full_values_;                // of the outputs of all columns
  // The arrays that keep expressions of a row, and the stages that compute these first.
  std::map<const ir::ExprNode*, Variable> cache_;
  std::map<const ir::ExprNode*, size_t> first_stage_;
  std::vector<RowResult> results_;  // of the plan's reductions

 private:
  void bind_results();
  void place_threads(const Kernel& kernel);
  void collect();
  // Vectors that a thread loads before it uses the first one, where the row is not kept.
  int64_t together() const;
  void write_outputs();
  Block row_outputs();
  Block full_outputs();
};

}  // namespace tcc::sched
