// The sets of nodes of a graph that attention may be made of.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/templates/attention_plan.h"
#include "support/error.h"

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

  std::vector<NearSeed> near() const {
    std::vector<NearSeed> found;
    for (const auto& node : graph_.nodes()) {
      if (node->op->kind != OpKind::contraction) continue;
      for (const Value* operand : node->inputs) {
        if (!seed_of(node.get(), operand).empty()) continue;
        if (auto near = near_of(node.get(), operand)) found.push_back(*std::move(near));
      }
    }
    return found;
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
      Nodes between = made_of(first, above);
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

  // The product `first` with those of `above`, in order, that are made of it and no products.
  Nodes made_of(size_t first, const Nodes& above) const {
    Nodes made = {first};
    for (const size_t at : above)
      if (nodes_[at]->op->kind != OpKind::contraction &&
          std::ranges::any_of(nodes_[at]->inputs,
                              [&](const Value* input) { return made_by(input, made); }))
        made.insert(at);
    return made;
  }

  // The operands of `second`, back to another product over nodes of any kind, where exponentials
  // and their sum are made of that product. Nothing where they are not.
  std::optional<NearSeed> near_of(const Node* second, const Value* operand) const {
    Nodes above;
    std::deque<const Value*> open = {operand};
    while (!open.empty() && above.size() <= kMostSeedNodes) {
      const Node* node = open.front() ? open.front()->producer : nullptr;
      open.pop_front();
      if (!node || !above.insert(position_.at(node)).second) continue;
      if (node->op->kind != OpKind::contraction)
        open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
    for (const size_t first : above) {
      if (nodes_[first]->op->kind != OpKind::contraction) continue;
      Nodes between = made_of(first, above);
      std::string reason = against_softmax(between, first);
      if (reason.empty()) continue;
      between.insert(position_.at(second));
      NearSeed near{{}, std::move(reason)};
      for (const size_t at : between) near.nodes.push_back(nodes_[at]);
      return near;
    }
    return std::nullopt;
  }

  // Returns why the nodes behind the product are no softmax between two products; "": there are no
  // exponentials whose sum is taken.
  std::string against_softmax(const Nodes& between, size_t first) const {
    const Node *inside = nullptr, *behind = nullptr;  // sums of exponentials
    for (const size_t at : between) {
      if (nodes_[at]->op_name() != "exp") continue;
      const Node* sum = sum_of(nodes_[at]);
      if (sum) (between.contains(position_.at(sum)) ? inside : behind) = sum;
    }
    if (!inside && !behind) return "";
    for (const size_t at : between)
      if (at != first && !is_pointwise(nodes_[at]) && nodes_[at]->op->kind != OpKind::reduce)
        return str(nodes_[at]->op_name(), " (", nodes_[at]->outputs[0]->name,
                   ") stands between the products, and is no op of elements, view or reduction");
    if (between.size() > kMostSeedNodes)
      return str("more than ", kMostSeedNodes, " nodes stand between the products");
    if (!inside)
      return str("the exponentials are divided by their sum (", behind->outputs[0]->name,
                 ") behind the second product, not before it");
    return "no maximum of the scores is subtracted before the exponentials, as softmax does";
  }

  // The sum of exponentials that are perhaps cast, masked, or seen through a view.
  const Node* sum_of(const Node* exponentials) const {
    std::vector<const Node*> open = {exponentials};
    Nodes seen;
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (!seen.insert(position_.at(node)).second || seen.size() > kMostSeedNodes) continue;
      const auto uses = uses_.find(node->outputs[0]);
      if (uses == uses_.end()) continue;
      for (const Node* user : uses->second.nodes) {
        if (reduces(user, ReduceKind::sum)) return user;
        const std::string_view op = user->op_name();
        if (user->op->kind == OpKind::view || op == "cast" || op == "where" || op == "mul")
          open.push_back(user);
      }
    }
    return nullptr;
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

std::vector<NearSeed> near_attention(const ir::Graph& graph) { return Seeds(graph).near(); }

}  // namespace tcc::sched
