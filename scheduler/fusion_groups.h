// The state of partitioning: which group each node is in, who reads what, and what a set of nodes
// would be as a region.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "scheduler/candidate.h"
#include "scheduler/counted_stages.h"
#include "scheduler/work.h"

namespace tcc::sched {

// The bytes that computing each of a group's elements once reads, and those that storing its last
// node's results writes. Of an operand that is larger than the group only a part is read.
struct GroupBytes {
  double read = 0, written = 0;
};

class FusionGroups {
 public:
  FusionGroups(const ir::Graph& graph, const Target& target, const RegionPrecision& precision);
  const ir::Graph& graph() const { return graph_; }

  // An identity that simplification left: a pass wants its operand stored once more.
  static bool is_copy(const ir::Node* node) { return node->op_name() == "identity"; }

  // Costs nothing to compute again: index maps, and expressions of no operand. Such nodes stand in
  // every region that uses them, unless they are graph outputs.
  bool is_light(const ir::Node* node) const { return light_.count(node) > 0; }

  size_t size() const { return groups_.size(); }
  const std::vector<const ir::Node*>& nodes(size_t group) const { return groups_[group]; }
  void start(const std::vector<const ir::Node*>& nodes);
  void add(size_t group, const ir::Node* node);
  void merge(size_t from, size_t into);
  void claim(const ir::Node* light, size_t group);  // a light node that the group will store
  // The light casts that operands of the nodes' products are made of.
  std::vector<const ir::Node*> casts_of_operands(const std::vector<const ir::Node*>& nodes) const;
  // Gives light casts that operands of the nodes' products are made of groups of their own, where
  // the estimates say that these kernels and that of the nodes, which do not convert an operand
  // again for each tile, are the faster way. Returns the seconds of the way that is taken; infinity
  // where the nodes have no kernel.
  double store_casts(const std::vector<const ir::Node*>& nodes);

  // The last group that `node` reads from (through light nodes), or -1.
  int last_producer(const ir::Node* node) const;
  // The group that computes `value` (or, through light nodes, what it is made of), or -1.
  int last_producer(const ir::Value& value) const;
  // All groups that compute `value`, or through light nodes what it is made of.
  void add_producers(const ir::Value& value, std::set<int>& groups) const;
  // The groups that read this one's values; -1 stands for a graph output.
  std::set<int> consumers(size_t group) const;
  // The one group that reads this one's values, or -1: several, none, or a graph output.
  int only_consumer(size_t group) const;
  // The one node that reads `value`, or null; graph outputs have none.
  const ir::Node* only_user(const ir::Value* value) const;
  // Whether the node, which is in no group yet, is all that reads what the group makes.
  bool is_only_for(size_t group, const ir::Node* node) const;

  // Whether reductions alone read the node's elements, and others read all that it is made of: a
  // kernel of rows computes them from what is stored in any case, as the squares of a norm.
  bool is_made_for_rows(const ir::Node* node) const;

  bool is_pointwise(size_t group) const;
  bool is_reduction(size_t group) const;
  bool has_contraction(size_t group) const;
  bool has_products(size_t group) const;  // more than one contraction, as a seed has
  // Counts the work of one element of the node, once per node.
  const OpWork& work(const ir::Node* node) const;
  // Issue slots for one of the group's most numerous elements, which nothing stores on the way.
  // Infinite where an element needs a row's or a product's sum.
  double slots(const std::vector<const ir::Node*>& nodes) const;
  // The group's most numerous elements.
  double elements(const std::vector<const ir::Node*>& nodes) const;
  GroupBytes bytes(const std::vector<const ir::Node*>& nodes) const;
  // Returns how often `node` would compute an element that it reads of the group, through index
  // maps: the largest of these numbers, 0 where it reads nothing of it.
  double times_read(const std::vector<const ir::Node*>& group, const ir::Node* node) const;

  // Whether an operand of one of `others`' products is made of the group's results, which every
  // tile of the product computes again. What products' results are made into does not count: its
  // elements are computed once.
  bool feeds_products(const std::vector<const ir::Node*>& group,
                      const std::vector<const ir::Node*>& others) const;
  // Returns how often `others` compute an element of the group where they compute one of it for
  // each of the most numerous elements that they make of it.
  double times_made(const std::vector<const ir::Node*>& group,
                    const std::vector<const ir::Node*>& others) const;

  // The region of these nodes plus the light ones that they need, with the precision that it may
  // have; layouts are row-major. Its anchor is a contraction, else the first reduction, scan or
  // sort.
  Region region(const std::vector<const ir::Node*>& nodes) const;
  // How the target computes the region. A contraction that no template takes, too short and narrow
  // for a kernel of its own, is no anchor: it is a serial loop in each thread. Every set of nodes
  // is matched once.
  const Match& match(const std::vector<const ir::Node*>& nodes) const;

 private:
  // Takes back the claim of the last group, which has no other node: the node is light again.
  void unclaim_last();
  // Returns whether the node's elements are made of indices and numbers alone, by operations that
  // take no longer than loading them. Nodes are asked about in the graph's order.
  bool is_made_of_indices(const ir::Node& node);
  // Drops the matches of a group that has grown: nobody asks for them again.
  void forget(size_t group);
  // Drops the matches that a light node is a part of, or whose nodes read it.
  void forget_readers(const ir::Node* light);
  // Finds the nodes that compute this node's operands and those that read its results, through
  // light nodes.
  void find_neighbours(const ir::Node* light, std::set<const ir::Node*>& into) const;
  Match find_match(const std::vector<const ir::Node*>& nodes) const;
  // The nodes that read `value`, through light ones; null stands for a graph output.
  void find_readers(const ir::Value* value, std::set<const ir::Node*>& into) const;
  void collect_light(const ir::Value* value, std::set<const ir::Node*>& into) const;
  void find_consumers(const ir::Value* value, const std::set<const ir::Node*>& inside,
                      std::set<int>& groups) const;

  const ir::Graph& graph_;
  const Target& target_;
  RegionPrecision precision_;
  const CountedStages stages_;
  std::map<const ir::Value*, ir::Graph::Uses> uses_;
  std::unordered_map<const ir::Node*, size_t> position_;  // in the graph
  std::unordered_map<const ir::Node*, int> group_of_;
  std::unordered_set<const ir::Node*> light_;
  std::unordered_map<const ir::Value*, double> index_slots_;  // of values made of indices alone
  std::vector<std::vector<const ir::Node*>> groups_;
  mutable std::map<std::set<const ir::Node*>, Match> matches_;
  mutable std::unordered_map<const ir::Node*, OpWork> works_;
};

}  // namespace tcc::sched
