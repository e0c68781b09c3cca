#pragma once

#include <set>

#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Split-K: a matrix product whose output is too small to fill the device and whose sums are long
// becomes a batch of partial products, K/S long each and f32 (f64 for f64), and a sum over the
// batch that takes the rest as its epilogue. Deterministic: no atomics. S is a site of the plan
// ("split_k", 1: not split); by default a product is split only if it leaves half the device idle
// and its kernels do not split sums themselves (Candidate::splits_sums).
// The nodes in `kept` stay as they are.
void split_contractions(ir::Graph& graph, const Target& target, const Plan& plan = {},
                        const RegionPrecision& precision = {},
                        const std::set<const ir::Node*>& kept = {});

}  // namespace tcc::sched
