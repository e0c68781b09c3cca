// Where the next values of states lie, and what keeps the old ones readable until then.
#pragma once

#include <vector>

#include "scheduler/candidate.h"

namespace tcc::sched {

struct StateUpdate {
  const ir::Value* state;
  const ir::Value* next;  // its value from the next run on: what a node that stores it computes
  // The kernel that computes `next` writes the state's memory, where `next` lies from then on. If
  // not, it lies elsewhere and is copied there when the run ends.
  bool is_direct = false;
};

// Plans the states that `regions`, in execution order, store. A kernel writes the memory of a state
// where no later kernel reads the old value, and the kernel itself reads it nowhere, or reads and
// writes the same elements (Candidate::updates_in_place): these regions are matched again with
// Region::in_place set.
std::vector<StateUpdate> plan_states(const ir::Graph& graph, std::vector<ScheduledRegion>& regions);

}  // namespace tcc::sched
