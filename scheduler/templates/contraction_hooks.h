// The hooks of the contraction device sources hold what a region adds to their loops. Index maps,
// prologues, bounds and the epilogue are kernel IR, which the emitter of any target prints.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/kernel.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {

// The extents that a device source asks its hooks for.
struct ContractionTile {
  int64_t block_m = 1, block_n = 1, block_k = 1;  // indices reach up to the next multiple of these
  int64_t segment = 1;                            // neighbouring columns that the epilogue gets
};

class ContractionHooks {
 public:
  // All three must outlive the hooks' making.
  ContractionHooks(const Region& region, const ContractionPlan& plan, const ContractionTile& tile)
      : region_(region), plan_(plan), tile_(tile) {}

  // `name`(batch, at, k, out_values[vector]): `vector` neighbours of the plan's operand A or B, as
  // the accumulator's type, along k (then k counts vectors) or along the operand's own axis (then
  // `at` does). Rows and columns past the end repeat the last one; products past the end of k are
  // zero. An operand whose rows are reduced gets its row's results before out_values.
  Hook load(bool of_a, std::string name) const;

  // epilogue(batch, row, part, acc[segment]): stores one row segment; `part` counts segments. The
  // device source brings segments of `read` buffers, which follow acc: the hook's loads from them
  // are all of one matrix of the result's shape (epilogue_matrices), whose rows segments divide.
  Hook epilogue(std::span<const int> read = {}) const;

  // The epilogue whose loads are made ahead of it, as words that the device source keeps:
  //   hold_columns(batch, row, part, out_columns)  what all rows share
  //   hold(batch, row, part, out_held)             the others
  //   epilogue(batch, row, part, acc, columns, held)
  // Past the end the first two load what the last row and segment do. An array of no words is left
  // out, and so is its hook.
  struct HeldEpilogue {
    std::vector<Hook> hooks;
    int64_t columns = 0, held = 0;  // words of a segment
  };
  // More words than `most` are loaded by the epilogue, and so is what rows share, but where
  // `shares_columns`.
  HeldEpilogue held_epilogue(bool shares_columns, int64_t most) const;

 private:
  struct Segment;
  using Brought = std::function<void(std::vector<Expr>& values)>;
  std::vector<Sink> sinks(Inliner& inliner, const Segment& of, const Variable& acc,
                          const SymInt& col) const;
  // The epilogue's stores, whose values `brought` gives what is not loaded by them.
  Hook stores(Segment segment, const Variable& acc, const Brought& brought) const;

  const Region& region_;
  const ContractionPlan& plan_;
  const ContractionTile& tile_;
};

}  // namespace tcc::sched
