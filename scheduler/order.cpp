// The execution order of regions: list scheduling that prefers what frees memory, kept only where
// it helps.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "ir/counted_dims.h"
#include "ir/external.h"
#include "ir/sizes.h"
#include "scheduler/counted_stages.h"
#include "scheduler/memory_plan.h"
#include "scheduler/partition.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

int64_t bytes_of(const ir::Value* value) { return usual_numel(value) * size_bytes(value->dtype()); }

struct Dependencies {
  std::vector<std::vector<size_t>> producers;  // of each region
  std::map<const ir::Value*, size_t> producer;
  std::map<const ir::Value*, int> readers;  // regions that read an intermediate value
};

// Returns whether region `from` is computed, maybe through others, from what `to` stores.
bool depends(const Dependencies& d, size_t from, size_t to) {
  std::vector<size_t> stack = {from};
  std::set<size_t> seen = {from};
  while (!stack.empty()) {
    const size_t next = stack.back();
    stack.pop_back();
    if (next == to) return true;
    for (const size_t producer : d.producers[next])
      if (seen.insert(producer).second) stack.push_back(producer);
  }
  return false;
}

// A kernel can write a state's memory when nobody reads the old value any more: other readers come
// first where the graph allows it.
void put_readers_first(const ir::Graph& graph, const std::vector<ScheduledRegion>& regions,
                       Dependencies& d) {
  for (const auto& node : graph.nodes()) {
    const ir::Value* state = node->stored_in();
    const auto writer = state ? d.producer.find(node->outputs[0]) : d.producer.end();
    if (writer == d.producer.end()) continue;
    const size_t last = writer->second;
    for (size_t r = 0; r < regions.size(); ++r)
      if (r != last && regions[r].region().slot_of_input(state) >= 0 && !depends(d, r, last))
        d.producers[last].push_back(r);
  }
}

// Each region comes after the sizes that are read back before its stage.
void put_sizes_first(const ir::Graph& graph, const std::vector<ScheduledRegion>& regions,
                     Dependencies& d) {
  const CountedStages stages(graph);
  if (stages.is_one()) return;
  std::vector<size_t> reads;  // by stage: the region that ends it
  for (const ir::CountedDim& dim : ir::counted_dims(graph))
    for (size_t r = 0; r < regions.size(); ++r)
      if (regions[r].candidate().host_call() == dim.node) reads.push_back(r);
  for (size_t r = 0; r < regions.size(); ++r) {
    int stage = 0;
    for (const ir::Node* node : regions[r].region().nodes) stage = std::max(stage, stages.of(node));
    if (stage > 0) d.producers[r].push_back(reads.at(static_cast<size_t>(stage) - 1));
  }
}

Dependencies analyse(const ir::Graph& graph, const std::vector<ScheduledRegion>& regions) {
  Dependencies d;
  std::set<const ir::Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  for (size_t r = 0; r < regions.size(); ++r)
    for (const ir::Value* value : regions[r].region().outputs) d.producer[value] = r;
  d.producers.resize(regions.size());
  for (size_t r = 0; r < regions.size(); ++r)
    for (const ir::Value* value : regions[r].region().inputs) {
      auto found = d.producer.find(value);
      if (found == d.producer.end()) continue;
      d.producers[r].push_back(found->second);
      if (!outputs.count(value)) ++d.readers[value];
    }
  // Calls with effects stay in the graph's order. Each region comes after what it reads, so that
  // this makes no circle.
  std::optional<size_t> before;
  for (size_t r = 0; r < regions.size(); ++r) {
    const ir::Node* call = regions[r].candidate().host_call();
    if (!call || !ir::has_effects(*call)) continue;
    if (before) d.producers[r].push_back(*before);
    before = r;
  }
  put_sizes_first(graph, regions, d);
  put_readers_first(graph, regions, d);
  return d;
}

// Bytes that running region r next adds to what is live: its outputs, minus inputs that no other
// region waits for.
int64_t growth(const Region& region, const std::map<const ir::Value*, int>& readers) {
  int64_t bytes = 0;
  for (const ir::Value* value : region.outputs)
    if (readers.count(value)) bytes += bytes_of(value);
  for (const ir::Value* value : region.inputs)
    if (auto found = readers.find(value); found != readers.end() && found->second == 1)
      bytes -= bytes_of(value);
  return bytes;
}

std::vector<size_t> schedule(const std::vector<ScheduledRegion>& regions,
                             const Dependencies& dependencies, bool by_memory) {
  std::vector<size_t> missing(regions.size(), 0);
  std::vector<std::vector<size_t>> consumers(regions.size());
  for (size_t r = 0; r < regions.size(); ++r) {
    std::set<size_t> distinct(dependencies.producers[r].begin(), dependencies.producers[r].end());
    missing[r] = distinct.size();
    for (size_t p : distinct) consumers[p].push_back(r);
  }
  std::map<const ir::Value*, int> readers = dependencies.readers;
  std::set<size_t> ready;
  for (size_t r = 0; r < regions.size(); ++r)
    if (missing[r] == 0) ready.insert(r);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t next = *ready.begin();
    if (by_memory) {
      int64_t best = std::numeric_limits<int64_t>::max();
      for (size_t r : ready)
        if (int64_t g = growth(regions[r], readers); g < best) {
          best = g;
          next = r;
        }
    }
    ready.erase(next);
    order.push_back(next);
    for (const ir::Value* value : regions[next].region().inputs)
      if (auto found = readers.find(value); found != readers.end()) --found->second;
    for (size_t c : consumers[next])
      if (--missing[c] == 0) ready.insert(c);
  }
  TCC_CHECK(order.size() == regions.size(), "regions depend on one another in a circle");
  return order;
}

int64_t peak(const ir::Graph& graph, const std::vector<ScheduledRegion>& regions,
             const std::vector<size_t>& order) {
  std::vector<const Region*> ordered;
  for (size_t r : order) ordered.push_back(&regions[r].region());
  return live_peak(lifetimes(graph, ordered));
}

}  // namespace

void order_regions(const ir::Graph& graph, std::vector<ScheduledRegion>& regions) {
  Dependencies dependencies = analyse(graph, regions);
  std::vector<size_t> order = schedule(regions, dependencies, false);
  std::vector<size_t> frugal = schedule(regions, dependencies, true);
  if (peak(graph, regions, frugal) < peak(graph, regions, order)) order = frugal;
  std::vector<ScheduledRegion> sorted;
  for (size_t r : order) sorted.push_back(std::move(regions[r]));
  regions = std::move(sorted);
}

}  // namespace tcc::sched
