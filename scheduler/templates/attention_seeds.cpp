// The sets of nodes of a graph that attention may be made of.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/templates/attention_plan.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;
using ir::ReduceKind;
using ir::Value;

// Between the products stand a few ops of a mask, a bias, a softmax.
constexpr size_t kMostSeedNodes = 256;

bool is_pointwise(const Node* node) {
  return node->op->kind == OpKind::pointwise || node->op->kind == OpKind::view;
}

bool reduces(const Node* node, ReduceKind kind) {
  return node->op->kind == OpKind::reduce && *node->op->reduction == kind;
}

class Seeds {
 public:
  explicit Seeds(const ir::Graph& graph) : graph_(graph), uses_(graph.uses()) {
    for (const auto& node : graph.nodes()) {
      position_.emplace(node.get(), nodes_.size());
      nodes_.push_back(node.get());
    }
  }

  std::vector<std::vector<const Node*>> run() const {
    std::vector<std::vector<const Node*>> seeds;
    for (const auto& node : graph_.nodes()) {
      if (node->op->kind != OpKind::contraction) continue;
      for (const Value* operand : node->inputs)
        if (auto seed = seed_of(node.get(), operand); !seed.empty()) seeds.push_back(seed);
    }
    return seeds;
  }

 private:
  using Nodes = std::set<size_t>;  // positions in the graph

  bool made_by(const Value* value, const Nodes& nodes) const {
    return value && value->producer && nodes.contains(position_.at(value->producer));
  }

  // The operands of `second`, back to another product: both and what stands between them, or
  // nothing where that is no softmax.
  std::vector<const Node*> seed_of(const Node* second, const Value* operand) const {
    Nodes above;
    std::vector<const Value*> open = {operand};
    while (!open.empty()) {
      const Node* node = open.back() ? open.back()->producer : nullptr;
      open.pop_back();
      if (!node || above.contains(position_.at(node))) continue;
      const bool is_product = node->op->kind == OpKind::contraction;
      if (!is_product && !is_pointwise(node) && node->op->kind != OpKind::reduce) continue;
      above.insert(position_.at(node));
      if (above.size() > kMostSeedNodes) return {};
      if (!is_product) open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
    // Among several products, the scores' is the one that a maximum is taken of.
    for (const size_t first : above) {
      if (nodes_[first]->op->kind != OpKind::contraction) continue;
      Nodes between = {first};
      for (const size_t at : above)
        if (nodes_[at]->op->kind != OpKind::contraction &&
            std::ranges::any_of(nodes_[at]->inputs,
                                [&](const Value* input) { return made_by(input, between); }))
          between.insert(at);
      const auto has = [&](ReduceKind kind) {
        return std::ranges::any_of(between, [&](size_t at) { return reduces(nodes_[at], kind); });
      };
      if (!has(ReduceKind::max) || !has(ReduceKind::sum)) continue;
      add_log_sum(between);
      between.insert(position_.at(second));
      std::vector<const Node*> seed;
      for (const size_t at : between) seed.push_back(nodes_[at]);
      return seed;
    }
    return {};
  }

  // Nodes that are made of the maximum and the sum alone, as their log-sum-exp.
  void add_log_sum(Nodes& between) const {
    std::vector<const Node*> open;
    for (const size_t at : between)
      if (nodes_[at]->op->kind == OpKind::reduce) open.push_back(nodes_[at]);
    const int64_t rows = open.empty() ? 0 : ir::usual_numel(open[0]->outputs[0]);
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      const auto uses = uses_.find(node->outputs[0]);
      if (uses == uses_.end()) continue;
      for (const Node* user : uses->second.nodes) {
        if (between.contains(position_.at(user)) || !is_pointwise(user) ||
            ir::usual_numel(user->outputs[0]) != rows || between.size() > kMostSeedNodes)
          continue;
        const bool is_closed = std::ranges::all_of(user->inputs, [&](const Value* input) {
          return !input || input->is_constant() || made_by(input, between);
        });
        if (!is_closed) continue;  // perhaps once its other operands are there
        between.insert(position_.at(user));
        open.push_back(user);
      }
    }
  }

  const ir::Graph& graph_;
  std::map<const Value*, ir::Graph::Uses> uses_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> position_;
};

}  // namespace

std::vector<std::vector<const Node*>> attention_seeds(const ir::Graph& graph) {
  return Seeds(graph).run();
}

}  // namespace tcc::sched
