#include "scheduler/plan.h"

#include <algorithm>
#include <set>

#include "ir/op.h"
#include "scheduler/region_text.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kKinds[] = {"split_reduction", "split_k",    "split_scan", "fuse",
                                       "pad_inputs",      "pad_images", "phases"};

bool is_kind(const std::string& kind) {
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

bool is_alternative(const PlanSite& site, int64_t choice) {
  return std::binary_search(site.alternatives.begin(), site.alternatives.end(), choice);
}

// Says where an operand from outside comes from: its views decide how it lies in memory.
std::string origin_text(const NodeText& writer, const ir::Value* value) {
  constexpr int kMostViews = 8;
  std::string text;
  for (int i = 0; i <= kMostViews; ++i) {
    text += writer.type(*value);
    if (value->is_constant()) text += value->is_mutable ? " weight" : " constant";
    if (!value->producer) return text;
    text += " <- ";
    const ir::Node& producer = *value->producer;
    if (producer.op->kind != ir::OpKind::view) break;
    text += str(producer.op_name(), "(", writer.attributes(producer), ") ");
    value = producer.inputs[0];
  }
  return text + std::string(value->producer ? value->producer->op_name() : "");
}

// A hash of what each of the nodes' results is computed from; of operands from outside, their
// types.
std::map<const ir::Value*, Hash128> structure_of(std::span<const ir::Node* const> nodes) {
  const NodeText writer(Sizes::kept);
  std::map<const ir::Value*, Hash128> hashes;
  for (const ir::Node* node : nodes) {
    Hasher hasher;
    hasher.add(node->op_name()).add(writer.attributes(*node));
    for (const ir::Value* input : node->inputs) {
      const auto found = hashes.find(input);
      if (found != hashes.end())
        hasher.add(found->second);
      else
        hasher.add(input ? writer.type(*input) : "-");
    }
    for (size_t i = 0; i < node->outputs.size(); ++i)
      hashes[node->outputs[i]] = Hasher().add(hasher.digest()).add(i).digest();
  }
  return hashes;
}

// The results that none of the nodes reads, in an order that follows from what they are.
std::vector<const ir::Value*> results_of(std::span<const ir::Node* const> nodes) {
  std::set<const ir::Value*> read;
  for (const ir::Node* node : nodes) read.insert(node->inputs.begin(), node->inputs.end());
  std::vector<const ir::Value*> results;
  for (const ir::Node* node : nodes)
    for (const ir::Value* output : node->outputs)
      if (!read.contains(output)) results.push_back(output);
  const auto structure = structure_of(nodes);
  std::ranges::stable_sort(results, {}, [&](const ir::Value* v) { return structure.at(v); });
  return results;
}

}  // namespace

std::span<const std::string_view> plan_kinds() { return kKinds; }

int64_t Plan::choose(const PlanSite& site) const {
  TCC_CHECK(is_kind(site.kind) && site.alternatives.size() >= 2 &&
                std::is_sorted(site.alternatives.begin(), site.alternatives.end()) &&
                is_alternative(site, site.default_choice),
            site.kind, ": ", site.description, ": no choice");
  if (!source_) return site.default_choice;
  const int64_t choice = source_->choose(site, *target_);
  TCC_CHECK(is_alternative(site, choice), site.kind, ": ", choice, " is not an alternative");
  return choice;
}

std::string Subgraph::key(std::span<const ir::Node* const> nodes, size_t part) const {
  const std::set<const ir::Node*> inside(nodes.begin(), nodes.end());
  const std::set<const ir::Node*> first(nodes.begin(), nodes.begin() + static_cast<long>(part));
  NodeText writer(Sizes::kept);
  std::string text = str("subgraph ", kRegionTextVersion, "\n");
  size_t operands = 0;
  for (const ir::Node* node : canonical_order(nodes, results_of(nodes))) {
    for (const ir::Value* input : node->inputs) {
      if (!input || writer.has_mark(input)) continue;
      writer.set_mark(input, str("x", operands++));
      text += str(writer.mark(input), " ", origin_text(writer, input), "\n");
    }
    text += str(first.contains(node) ? "first " : "", writer.node(*node), "\n");
    for (const ir::Value* output : node->outputs)
      text += str(writer.mark(output), " read by", readers(output, inside), "\n");
  }
  return hash_of(text).hex();
}

std::string Subgraph::readers(const ir::Value* value,
                              const std::set<const ir::Node*>& inside) const {
  const auto uses = uses_.find(value);
  if (uses == uses_.end()) return "";
  std::multiset<std::string_view> names;
  for (const ir::Node* user : uses->second.nodes)
    if (!inside.contains(user)) names.insert(user->op_name());
  std::string text;
  for (const std::string_view name : names) text += str(" ", name);
  return uses->second.outputs > 0 ? text + " output" : text;
}

std::vector<int64_t> divisors_among(std::vector<int64_t> candidates, int64_t total, int64_t low,
                                    int64_t high) {
  std::erase_if(candidates,
                [&](int64_t c) { return c < 1 || c < low || c > high || total % c != 0; });
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

}  // namespace tcc::sched
