// Cutting a graph into regions, each of which becomes one kernel.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "scheduler/candidate.h"

namespace tcc::sched {

struct PartitionOptions {
  bool fuse = true;  // false: one region per op
  RegionPrecision precision = {};
  Plan plan = {};  // what is fused is a site ("fuse") where it may be a loss
  // Values without a producer, and outputs, whose layouts may change: the graph is a part of one in
  // which kernels write and read them.
  std::set<const ir::Value*> free_layouts = {};
  // When set, gets a line for every pair of regions of which one reads what the other writes: why
  // they are two kernels. Equal lines come once, with their number.
  std::function<void(const std::string& line)> explain = {};
};

// Cuts a decomposed, bound graph into regions in an order that keeps live bytes low. Every graph
// output that has elements is an output of exactly one region. The graph must outlive the regions.
std::vector<ScheduledRegion> partition(const ir::Graph& graph, const Target& target,
                                       const PartitionOptions& options = {});

// Returns the execution order that keeps the sum of live buffers low.
void order_regions(const ir::Graph& graph, std::vector<ScheduledRegion>& regions);

}  // namespace tcc::sched
