// A region with a config becomes kernels that run one after another, with scratch memory
// between them. Most templates make one kernel, which needs none.
#pragma once

#include <string>
#include <vector>

#include "scheduler/kernel.h"
#include "scheduler/region.h"

namespace tcc::sched {

using exec::Workspace;

struct KernelSequence {
  // A kernel, and the buffers that are its arguments, in their order: those of the region's slots
  // (inputs, then outputs that are not in place) have the numbers from 0 on, and after them come
  // the workspaces.
  struct Launch {
    Kernel kernel;
    std::vector<int> buffers;
    SymInt times = 1;  // launches in a row; unless it is 1, the kernel is `numbered`
  };
  std::vector<Launch> launches;
  std::vector<Workspace> workspaces;

  KernelSequence() = default;
  // One kernel on the region's buffers.
  KernelSequence(Kernel kernel);

  // The kernel where it is one; TCC_CHECKs that it is.
  const Kernel& only() const;
};

// "2 kernels with f32[24] partials, f32[6] zeros"; "" for one kernel without workspaces.
std::string summary(const KernelSequence& sequence);

// One kernel as to_string(Kernel) has it; of several, each under a line with its buffers, after
// lines of the workspaces.
std::string to_string(const KernelSequence& sequence);

// Checks that each kernel gets buffers of its arguments' types and as many elements, that inputs
// are only read, every output is written, and no workspace is read before it is filled or written.
// Device sources update workspaces alone, by rules of their own, and may fill them themselves.
// An input in whose place an output is written is read by no kernel after the first that writes it.
// The kernels themselves are not looked at. Throws InternalError.
void verify(const KernelSequence& sequence, const Region& region);

}  // namespace tcc::sched
