#include "scheduler/alternatives.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "ir/passes/common_subexpressions.h"
#include "ir/passes/decompose.h"
#include "ir/passes/simplify.h"
#include "ir/sizes.h"
#include "scheduler/conv_phases.h"
#include "scheduler/copy_operands.h"
#include "scheduler/cost.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/graph_part.h"
#include "scheduler/partition.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;
using ir::Value;

// Another graph must gain more than launches vary, and their estimates are wrong by.
constexpr double kLeastGain = 4e-6;
// Estimates do not tell choices apart that keep this share of the largest gain, or that take this
// much longer than the fastest where there is nothing to gain from: the earlier one in the
// candidate's order is taken.
constexpr double kMostOfGain = 0.75, kAlike = 1.25;

bool may_have_alternatives(const Node& node, AlternativeStage stage) {
  if (node.op->kind == OpKind::contraction) return true;
  return stage == AlternativeStage::primitives &&
         (node.op->kind == OpKind::reduce || node.op->kind == OpKind::scan ||
          node.op->kind == OpKind::sort);
}

// The proposal of a node's candidate, or of its refusal.
struct Proposal {
  std::optional<Alternative> alternative;
  CandidatePtr candidate;  // null: no kernel computes the node as it is
};

// The predicted seconds of a part's kernels: of all, and of those around nodes of a kind.
struct Seconds {
  double all = 0, own = 0;
};

// Views of constants are made when weights are loaded (ir::fold_constants).
void fold_views(ir::Graph& graph) {
  ir::rewrite_nodes(graph, [](ir::Builder& b, const Node& node) -> ir::Replacement {
    if (node.op->kind != OpKind::view || !ir::is_fixed(node.inputs[0])) return {};
    if (node.inputs[0]->data->splat()) return {};
    const auto never = []() -> TensorPtr { throw InternalError("a trial's constant is loaded"); };
    return {b.graph().add_constant("", node.outputs[0]->type, ir::make_lazy_constant(never))};
  });
}

class Comparison {
 public:
  Comparison(const ir::Graph& graph, AlternativeStage stage, const Target& target, const Plan& plan,
             const RegionPrecision& precision, const KeptNodes& kept)
      : graph_(graph),
        stage_(stage),
        target_(target),
        plan_(plan),
        precision_(precision),
        give_kept_(kept),
        groups_(graph, target, precision),
        subgraph_(graph) {}

  // The rewrites that are taken, by the nodes that they replace.
  std::map<const Node*, std::pair<const Alternative*, int64_t>> decide() {
    for (const auto& node : graph_.nodes())
      if (const Proposal* proposal = proposal_of(node.get())) compare(node.get(), *proposal);
    std::map<const Node*, std::pair<const Alternative*, int64_t>> taken;
    for (const auto& node : graph_.nodes()) {
      const Proposal* proposal = proposal_of(node.get());
      if (!proposal) continue;
      const Alternative& alternative = *proposal->alternative;
      const int64_t choice = choose(node.get(), alternative);
      if (choice != alternative.none) taken[node.get()] = {&alternative, choice};
    }
    return taken;
  }

 private:
  const std::set<const Node*>& kept() {
    if (!kept_) kept_ = give_kept_ ? give_kept_() : std::set<const Node*>();
    return *kept_;
  }

  // Null for nodes without alternatives. Sites of equal keys are one decision: the first node's
  // candidate stands for all.
  const Proposal* proposal_of(const Node* node) {
    if (!may_have_alternatives(*node, stage_)) return nullptr;
    const auto [key, is_new] = keys_.try_emplace(node);
    if (is_new) key->second = subgraph_.key({&node, 1});
    const auto [found, is_first] = proposals_.try_emplace(key->second);
    if (is_first) found->second = proposal_for(node);
    return found->second.alternative && !kept().contains(node) ? &found->second : nullptr;
  }

  Proposal proposal_for(const Node* node) const {
    const Match& match = groups_.match({node});
    Proposal proposal;
    std::vector<Alternative> alternatives;
    if (match) {
      proposal.candidate = *match;
      alternatives = (*match)->alternatives(stage_);
    } else if (stage_ == AlternativeStage::primitives) {
      alternatives = match.refusal().alternatives;
    }
    TCC_CHECK(alternatives.size() <= 1, node->op_name(), " has alternatives of several kinds");
    if (!alternatives.empty()) proposal.alternative = std::move(alternatives.front());
    return proposal;
  }

  int64_t choose(const Node* node, const Alternative& alternative) const {
    const std::string& key = keys_.at(node);
    const int64_t by_default = defaults_.at(key);
    if (alternative.choices.size() == 1) return by_default;
    PlanSite site;
    site.kind = alternative.kind;
    site.key = key;
    site.description = alternative.description;
    site.alternatives = alternative.choices;
    std::ranges::sort(site.alternatives);
    site.default_choice = by_default;
    return plan_.choose(site);
  }

  // Finds the default of the node, and of those that are rewritten together with it.
  void compare(const Node* node, const Proposal& proposal) {
    const Alternative& alternative = *proposal.alternative;
    const auto [found, is_new] = defaults_.try_emplace(keys_.at(node), alternative.none);
    if (!is_new) return;
    if (alternative.choices.size() == 1) {
      found->second = alternative.choices.front();
      return;
    }
    if (alternative.keeps_whole() && !may_gain(*proposal.candidate, alternative)) return;
    if (!parts_) parts_.emplace(graph_);
    const std::vector<const Node*> part = parts_->around(node, kept());
    std::vector<const Node*> together = rewritten_together(node, alternative, part);
    std::vector<int64_t> choices = alternative.choices;
    for (const Node* other : together) {
      const std::vector<int64_t>& others = proposal_of(other)->alternative->choices;
      std::erase_if(choices, [&](int64_t choice) {
        return std::ranges::find(others, choice) == others.end();
      });
    }
    if (choices.empty()) {
      choices = alternative.choices;
      together = {node};
    }
    const int64_t choice = cheapest(alternative, choices, part, together);
    if (choice == alternative.none) return;
    for (const Node* other : together) defaults_[keys_.at(other)] = choice;
  }

  // Two launches that move the bytes once are the least that another graph takes.
  bool may_gain(const Candidate& candidate, const Alternative& alternative) const {
    if (alternative.occupied >= alternative.clear) return false;
    const double whole = candidate.default_seconds();
    const double moved = region_bytes(candidate.region()) / target_.bandwidth;
    const double least = 2 * launch_seconds(target_) +
                         std::max(moved, alternative.occupied * (whole - launch_seconds(target_)));
    return least < alternative.clear * whole;
  }

  // The nodes of the part for which the same rewrite is proposed: dependent reductions of the same
  // rows are fast in one kernel, or all in parts.
  std::vector<const Node*> rewritten_together(const Node* node, const Alternative& alternative,
                                              const std::vector<const Node*>& part) {
    std::vector<const Node*> together;
    for (const Node* other : part) {
      if (other == node) {
        together.push_back(other);
        continue;
      }
      const Proposal* proposal = proposal_of(other);
      if (!proposal || proposal->alternative->kind != alternative.kind) continue;
      const std::vector<int64_t>& choices = proposal->alternative->choices;
      const bool shares = std::ranges::any_of(alternative.choices, [&](int64_t choice) {
        return choice != alternative.none && std::ranges::find(choices, choice) != choices.end();
      });
      if (shares) together.push_back(other);
    }
    return together;
  }

  int64_t cheapest(const Alternative& alternative, const std::vector<int64_t>& choices,
                   const std::vector<const Node*>& part,
                   const std::vector<const Node*>& together) const {
    const auto seconds_with = [&](int64_t choice) {
      return seconds_of(alternative, choice, part, together);
    };
    std::vector<int64_t> others = choices;
    const bool may_stay = std::erase(others, alternative.none) > 0;
    if (others.empty()) return alternative.none;
    const std::map<int64_t, double> tried =
        climb(others, [&](int64_t choice) { return seconds_with(choice).all; });
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [choice, seconds] : tried) best = std::min(best, seconds);
    double most = kAlike * best;  // seconds of a choice that may be taken
    if (may_stay) {
      const auto gains = [&](const Seconds& whole) {
        return whole.all - best >= std::max(kLeastGain, (1 - alternative.clear) * whole.own);
      };
      Seconds whole = seconds_with(alternative.none);
      if (!gains(whole)) return alternative.none;
      // The last stage may make it as fast, by a copy of its operands for matrix units.
      if (stage_ == AlternativeStage::primitives) {
        const Seconds finally =
            seconds_of(alternative, alternative.none, part, together, /*finally=*/true);
        if (finally.all < whole.all) whole = finally;
        if (!gains(whole)) return alternative.none;
      }
      most = whole.all - kMostOfGain * (whole.all - best);
    }
    return *std::ranges::find_if(others, [&](int64_t choice) {
      const auto found = tried.find(choice);
      return found != tried.end() && found->second <= most;
    });
  }

  // The seconds of the first choice and of those after it, in ascending order, as long as they get
  // less; or else of those before it.
  static std::map<int64_t, double> climb(std::vector<int64_t> choices,
                                         const std::function<double(int64_t)>& seconds) {
    const int64_t first = choices.front();
    std::ranges::sort(choices);
    const auto begin = std::ranges::find(choices, first) - choices.begin();
    std::map<int64_t, double> tried = {{first, seconds(first)}};
    for (const std::ptrdiff_t step : {1, -1}) {
      double last = tried.at(first);
      for (std::ptrdiff_t k = begin + step; k >= 0 && k < std::ssize(choices); k += step) {
        const int64_t choice = choices[static_cast<size_t>(k)];
        const double one = tried[choice] = seconds(choice);
        if (one >= last) break;
        last = one;
      }
      if (last < tried.at(first)) break;
    }
    return tried;
  }

  Seconds seconds_of(const Alternative& alternative, int64_t choice,
                     const std::vector<const Node*>& nodes,
                     const std::vector<const Node*>& together, bool finally = false) const {
    const GraphPart part = parts_->part(nodes);
    std::set<const Node*> rewritten;
    for (const Node* node : together) rewritten.insert(part.copies.at(node));
    if (choice != alternative.none)
      ir::rewrite_nodes(*part.graph, [&](ir::Builder& b, const Node& node) -> ir::Replacement {
        return rewritten.contains(&node) ? alternative.rewrite(b, node, choice) : ir::Replacement{};
      });
    if (stage_ == AlternativeStage::primitives) {
      ir::decompose(*part.graph);
      fold_views(*part.graph);
      ir::simplify(*part.graph);
      ir::eliminate_common_subexpressions(*part.graph);
    }
    if (finally)
      take_alternatives(*part.graph, AlternativeStage::final, target_, plan_, precision_);
    PartitionOptions options;
    options.precision = precision_;
    options.free_layouts = part.free_inputs;
    for (const size_t k : part.free_outputs) options.free_layouts.insert(part.graph->outputs[k]);
    Seconds seconds;
    const OpKind kind = together.front()->op->kind;
    for (const ScheduledRegion& region : partition(*part.graph, target_, options)) {
      const Candidate& candidate = region.candidate();
      const double one = candidate.default_seconds();
      seconds.all += one;
      if (region.region().anchor && region.region().anchor->op->kind == kind) seconds.own += one;
    }
    return seconds;
  }

  const ir::Graph& graph_;
  const AlternativeStage stage_;
  const Target& target_;
  const Plan& plan_;
  const RegionPrecision precision_;
  const KeptNodes& give_kept_;
  FusionGroups groups_;
  Subgraph subgraph_;
  std::optional<std::set<const Node*>> kept_;  // made at the first need, as the parts
  std::optional<GraphParts> parts_;
  std::map<const Node*, std::string> keys_;
  std::map<std::string, Proposal> proposals_;  // by the nodes' keys
  std::map<std::string, int64_t> defaults_;    // likewise
};

}  // namespace

bool take_alternatives(ir::Graph& graph, AlternativeStage stage, const Target& target,
                       const Plan& plan, const RegionPrecision& precision, const KeptNodes& kept) {
  // Copies are for matrix units, phases for all.
  const auto has_any = [](const auto& node) {
    return node->op_name() == "convolution" && has_phases(*node);
  };
  if (stage == AlternativeStage::final && target.matrix_units.empty() &&
      std::ranges::none_of(graph.nodes(), has_any))
    return false;
  Comparison comparison(graph, stage, target, plan, precision, kept);
  const auto taken = comparison.decide();
  if (taken.empty()) return false;
  ir::rewrite_nodes(graph, [&](ir::Builder& b, const Node& node) -> ir::Replacement {
    const auto found = taken.find(&node);
    if (found == taken.end()) return {};
    const auto& [alternative, choice] = found->second;
    return alternative->rewrite(b, node, choice);
  });
  if (stage == AlternativeStage::final) merge_copies(graph);
  return true;
}

}  // namespace tcc::sched
