// Scratch memory that the kernels of a region for several sizes share.
#pragma once

#include <span>
#include <vector>

#include "executable/kernel_binary.h"

namespace tcc::sched {

using exec::Workspace;

// Whether it holds counters and the like, whose fill takes as long as a kernel's launch. Those of
// all kernels of a program are filled at once.
bool is_of_few_zeros(const Workspace& workspace);

// Adds the workspaces of one choice of kernels to the slots of a region, and returns the number of
// each one's slot. One choice alone runs, so that those of another one lie in the same slots. A
// slot is as large as its largest workspace. It is `zeroed` where the first step of a run fills it,
// and lives from there on then: workspaces of few zeros share slots with their like alone. The
// others' zeros are for their own kernels' steps to fill.
std::vector<size_t> share_slots(std::span<const Workspace> choice, std::vector<Workspace>& slots);

}  // namespace tcc::sched
