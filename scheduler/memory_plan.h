// The memory plan puts all values between regions into one arena. Values whose lifetimes do not
// overlap may share offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "scheduler/state_plan.h"

namespace tcc::sched {

// A buffer that is written at step `first` and last read at step `last` (inclusive).
struct Lifetime {
  const ir::Value* value = nullptr;
  int64_t bytes = 0;
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

// Sets the offsets; returns the arena's size. Tries several orders of first fit and keeps the best.
int64_t plan_arena(std::vector<Lifetime>& lifetimes);

}  // namespace tcc::sched
