// Cutting the graph into regions: greedy, in topological order, as far as some kernel template
// accepts the result.
#include <algorithm>
#include <functional>
#include <set>

#include "scheduler/fusion_groups.h"
#include "scheduler/region.h"
#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;
using ir::Value;

class Partitioner {
 public:
  Partitioner(const ir::Graph& graph, const PartitionOptions& options)
      : groups_(graph, options.strict_rounding), options_(options) {}

  std::vector<Region> run() {
    for (const auto& node : groups_.graph().nodes()) place(node.get());
    if (options_.fuse) {
      absorb_producers();
      sink_views();
    }
    std::vector<Region> regions;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (!groups_.nodes(g).empty()) regions.push_back(groups_.region(groups_.nodes(g)));
    return regions;
  }

 private:
  // Into the last of the groups that it reads from: every other one comes before that, so no cycle
  // can arise.
  void place(const Node* node) {
    if (groups_.is_light(node)) return;
    // A contraction starts a group of its own; what feeds it joins later, where that pays
    // (absorb_producers).
    bool joins = options_.fuse && node->op->kind != OpKind::contraction;
    int last = joins ? groups_.last_producer(node) : -1;
    if (last >= 0 && may_join(static_cast<size_t>(last), node)) {
      groups_.add(static_cast<size_t>(last), node);
      return;
    }
    groups_.start(node);
  }

  bool may_join(size_t group, const Node* node) const {
    std::vector<const Node*> nodes = groups_.nodes(group);
    if (groups_.costly(nodes) && rereads(node)) return false;
    if (multiplies_work(nodes, node)) return false;
    nodes.push_back(node);
    return groups_.accepted(nodes);
  }

  // Reads several elements of an operand for one of its own.
  static bool rereads(const Node* node) {
    return node->op->expensive || node->op->kind == OpKind::scan || node->op_name() == "cat";
  }

  // A pointwise producer would be computed more often than once per element.
  static bool multiplies_work(const std::vector<const Node*>& nodes, const Node* node) {
    bool anchored = std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
      return n->op->kind == OpKind::reduce || n->op->kind == OpKind::contraction ||
             n->op->kind == OpKind::scan;
    });
    if (anchored || node->op->kind == OpKind::reduce) return false;
    int64_t before = 0;
    bool expensive = false;
    for (const Node* n : nodes) {
      before = std::max(before, numel(n->outputs[0]));
      expensive |= n->op->expensive;
    }
    int64_t after = numel(node->outputs[0]);
    return node->op->kind != OpKind::contraction &&
           (after > 4 * before || (expensive && after > before));
  }

  // Pointwise groups that only one other group reads become its prologue.
  void absorb_producers() {
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_.nodes(g).empty() || !groups_.is_pointwise(g)) continue;
      int consumer = groups_.only_consumer(g);
      if (consumer < 0) continue;
      auto into = static_cast<size_t>(consumer);
      if (groups_.costly(groups_.nodes(g)) && !groups_.is_reduction(into)) continue;
      std::vector<const Node*> nodes = groups_.nodes(g);
      const auto& others = groups_.nodes(into);
      if (std::any_of(others.begin(), others.end(),
                      [](const Node* n) { return rereads(n) && n->op_name() != "cat"; }))
        continue;
      if (groups_.has_contraction(into) && reads_more_than_it_makes(nodes)) continue;
      nodes.insert(nodes.end(), others.begin(), others.end());
      if (groups_.accepted(nodes)) groups_.merge(g, into);
    }
  }

  // As a prologue of a contraction its inputs are read once per tile of the other operand: not if
  // they are larger.
  bool reads_more_than_it_makes(const std::vector<const Node*>& nodes) const {
    Region region = groups_.region(nodes);
    int64_t in = 0, out = 0;
    for (const Value* v : region.inputs) in += numel(v) * size_bytes(v->dtype());
    for (const Value* v : region.outputs) out += numel(v) * size_bytes(v->dtype());
    return in > out + out / 2;
  }

  // A bijective view that is all that reads a value moves into the value's group, which then stores
  // through it: what the next kernel reads is laid out as that kernel wants it.
  void sink_views() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (bool moved = true; moved && !groups_.nodes(g).empty();) {
        moved = false;
        for (const Value* value : groups_.region(groups_.nodes(g)).outputs) {
          const Node* view = groups_.only_user(value);
          if (!view || !groups_.is_light(view) || view->op->kind != OpKind::view ||
              !view->op->inverse)
            continue;
          std::vector<const Node*> nodes = groups_.nodes(g);
          nodes.push_back(view);
          if (!groups_.accepted(nodes)) continue;
          groups_.claim(view, g);
          moved = true;
          break;
        }
      }
    }
  }

  FusionGroups groups_;
  PartitionOptions options_;
};

}  // namespace

std::vector<Region> partition(const ir::Graph& graph, const PartitionOptions& options) {
  std::vector<Region> regions = Partitioner(graph, options).run();
  order_regions(graph, regions);
  assign_layouts(graph, regions, options);
  return regions;
}

}  // namespace tcc::sched
