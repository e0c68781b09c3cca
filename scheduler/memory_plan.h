// The memory plan puts all values between regions into one arena. Values whose lifetimes do not
// overlap may share offsets.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "scheduler/state_plan.h"

namespace tcc::sched {

// A buffer that is written at step `first` and last read at step `last` (inclusive).
struct Lifetime {
  const ir::Value* value = nullptr;
  SymInt size = 0;    // bytes
  int64_t bytes = 0;  // a multiple of kArenaAlignment; the usual one, where dims are open
  int first = 0, last = 0;
  int64_t offset = -1;
};

inline constexpr int64_t kArenaAlignment = 256;  // bytes

// Returns the lifetime of every intermediate value (neither graph input, output, constant nor in a
// state's memory), in order of `first`. What is copied to a state lives until the run ends.
std::vector<Lifetime> lifetimes(const ir::Graph& graph, const std::vector<const Region*>& order,
                                std::span<const StateUpdate> updates = {});

// Returns the largest sum of live bytes over all steps, each rounded up to kArenaAlignment: no
// memory plan needs less.
int64_t live_peak(const std::vector<Lifetime>& lifetimes);

// The arena's places for all values between regions.
struct ArenaPlan {
  std::map<const ir::Value*, SymInt> offsets;
  SymInt bytes = 0;
  int64_t live_peak = 0;              // of values whose sizes are numbers
  const Lifetime* largest = nullptr;  // of these
  std::vector<Lifetime> lifetimes;
};

// Values whose sizes are numbers lie as plan_arena says. Behind them are places for values with
// open dims: several values have one if they live at different times and the first is the largest
// for all sizes.
ArenaPlan plan_memory(const ir::Graph& graph, const std::vector<const Region*>& order,
                      std::span<const StateUpdate> updates = {});

// Sets the offsets; returns the arena's size. Tries several orders of first fit and keeps the best.
int64_t plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace tcc::sched
