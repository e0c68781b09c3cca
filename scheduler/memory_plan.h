// The memory plan puts all values between regions, and the regions' workspaces, into one arena.
// Those whose lifetimes do not overlap may share offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "scheduler/kernel_sequence.h"
#include "scheduler/region.h"

namespace tcc::sched {

// A buffer that is written by the kernels of region `first` and last read by those of region `last`
// (inclusive).
struct Lifetime {
  const ir::Value* value = nullptr;  // null: a workspace
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = -1;
  int workspace = -1;  // of one: its number among those of region `first`
};

inline constexpr int64_t kArenaAlignment = 256;  // bytes

// Returns the lifetime of every intermediate value (neither graph input, output nor constant) and
// of every workspace, which lives while its region's kernels run, in order of `first`. `workspaces`
// are those of each region in the order; empty: there are none.
std::vector<Lifetime> lifetimes(const ir::Graph& graph, const std::vector<const Region*>& order,
                                std::span<const std::vector<Workspace>* const> workspaces = {});

// Returns the largest sum of live bytes over all steps, each rounded up to kArenaAlignment: no
// memory plan needs less.
int64_t live_peak(const std::vector<Lifetime>& lifetimes);

// Sets the offsets; returns the arena's size. Tries several orders of first fit and keeps the best.
int64_t plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace tcc::sched
