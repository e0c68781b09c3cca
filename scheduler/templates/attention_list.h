// Tiles of keys that tensors empty, as a mask that is an input does: a kernel ahead of attention
// lists which parts of the mask some query sees a key of, and attention skips tiles without any.
//
// An entry of the list, i32, is about some neighbouring queries and some neighbouring keys of the
// batches that have the mask in common. It is not 0 where one of these queries may see one of these
// keys.
#pragma once

#include "scheduler/kernel_sequence.h"
#include "scheduler/templates/attention_hooks.h"

namespace tcc::sched {

class AttentionTileList {
 public:
  // All must outlive the kernels' making.
  AttentionTileList(const Region& region, const AttentionPlan& plan, const AttentionTile& tile);

  // Whether what is loaded for the keys may empty tiles. All sizes are numbers.
  static bool is_possible(const AttentionPlan& plan);
  // The share of the time that skipped tiles are expected to take. It is not known: conditions are
  // there to hide keys, numbers that are added may be no mask.
  static double expected(const AttentionPlan& plan);
  // Predicts the time of the kernel that makes the list.
  static double seconds(const AttentionPlan& plan, const Target& target);

  // The same kernels behind the one that makes the list. The first of them gets the list and the
  // hook `name`(batch, query tile, key tile) -> i32: 0 where no query of the tile sees a key.
  KernelSequence before(KernelSequence attention, std::string name) const;

 private:
  SymInt offset(const SymInt& batch, const SymInt& rows, const SymInt& group) const;
  Hook tile_seen(std::string name, int buffer) const;
  Kernel make_list(int buffer) const;

  const Region& region_;
  const AttentionPlan& plan_;
  const AttentionTile& tile_;
  Expr seen_;
  std::vector<SymInt> digits_;  // of the batches, those that the list depends on
  bool by_query_;
  int64_t rows_, keys_;        // of an entry
  int64_t lanes_, of_thread_;  // threads that share the keys of an entry, and keys of each
  int64_t all_rows_, groups_;
  SymInt batches_;
};

}  // namespace tcc::sched
