// tcc-track explain says which kernels of a case changed, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/track/report.h"
#include "tools/tune/commands.h"

namespace tcc::tools {

// Kernels of two builds of one case that do the same work: they have one key, or else the same
// layers. Null where the other build has none.
struct KernelPair {
  const TrackedKernel *base = nullptr, *head = nullptr;
};
// Returns the kernels in the order of `head`, then those that only `base` has.
std::vector<KernelPair> paired(const std::vector<TrackedKernel>& base,
                               const std::vector<TrackedKernel>& head);
// Returns the differences, "config block_m=64 -> block_m=128; layers now with gelu; source", or ""
// where only times differ.
std::string change_of(const KernelPair& pair);
// A table of the time that all launches of each took in base and in head, their share of the
// roofline, and what changed; the largest difference first.
std::string kernel_table(const std::vector<TrackedKernel>& base,
                         const std::vector<TrackedKernel>& head);

Command add_explain(CLI::App& app);

}  // namespace tcc::tools
