// The memory plan puts all values between regions, and the regions' workspaces, into one arena.
// Those whose lifetimes do not overlap may share offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "scheduler/counted_stages.h"
#include "scheduler/kernel_sequence.h"
#include "scheduler/region.h"
#include "scheduler/state_plan.h"

namespace tcc::sched {

// A buffer that is written by the kernels of region `first` and last read by those of region `last`
// (inclusive).
struct Lifetime {
  const ir::Value* value = nullptr;  // null: a workspace
  SymInt size = 0;                   // bytes
  int64_t bytes = 0;  // a multiple of kArenaAlignment; the usual one, where dims are open
  int first = 0, last = 0;
  int64_t offset = -1;
  int workspace = -1;  // of one: its number among those of region `first`
};

inline constexpr int64_t kArenaAlignment = 256;  // bytes

using Workspaces = std::span<const std::vector<Workspace>* const>;

// Returns the lifetime of every intermediate value (neither graph input, output, constant nor in a
// state's memory) and of every workspace, which lives while its region's kernels run, in order of
// `first`. What is copied to a state lives until the run ends. `workspaces` are those of each
// region in the order; empty: there are none.
std::vector<Lifetime> lifetimes(const ir::Graph& graph, const std::vector<const Region*>& order,
                                Workspaces workspaces = {},
                                std::span<const StateUpdate> updates = {});

// Returns the largest sum of live bytes over all steps, each rounded up to kArenaAlignment: no
// memory plan needs less.
int64_t live_peak(const std::vector<Lifetime>& lifetimes);

// The places of all lifetimes in the arena, by their number.
struct ArenaPlan {
  std::vector<Lifetime> lifetimes;
  std::vector<SymInt> offsets;
  SymInt bytes = 0;
  int64_t live_peak = 0;  // at usual sizes
};

// Values whose sizes are numbers lie as plan_arena says. Behind them are places for values with
// open dims: several values have one if they live at different times and the first is the largest
// for all sizes. Where sizes are read back, places of later stages lie behind those of earlier
// ones: what is in those stays when a size becomes known.
ArenaPlan plan_memory(std::vector<Lifetime> lifetimes, const CountedStages& stages);

// Sets the offsets; returns the arena's size. Tries several orders of first fit and keeps the best.
int64_t plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace tcc::sched
