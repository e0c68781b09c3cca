#include "scheduler/plan.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "ir/op.h"
#include "scheduler/key_attributes.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kKinds[] = {"split_reduction", "split_k", "fuse", "pad_inputs"};

bool is_kind(const std::string& kind) {
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

bool is_alternative(const PlanSite& site, int64_t choice) {
  return std::binary_search(site.alternatives.begin(), site.alternatives.end(), choice);
}

void write_op(std::ostream& out, const ir::Node& node) {
  out << node.op_name() << "(";
  for (const auto& [key, attr] : key_attributes(node))
    out << key << "=" << ir::to_string(*attr) << " ";
  out << ")";
}

// Where an operand from outside comes from: its views decide how it lies in memory.
void write_origin(std::ostream& out, const ir::Value* value) {
  constexpr int kMostViews = 8;
  for (int i = 0; i <= kMostViews; ++i) {
    out << ir::to_string(value->type);
    if (value->is_constant()) out << (value->is_mutable ? " weight" : " constant");
    if (!value->producer) return;
    out << "<-";
    if (value->producer->op->kind != ir::OpKind::view) break;
    write_op(out, *value->producer);
    value = value->producer->inputs[0];
  }
  if (value->producer) out << value->producer->op_name();
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

std::string Subgraph::key(std::span<const ir::Node* const> nodes) const {
  std::ostringstream out;
  std::map<const ir::Value*, size_t> numbers;
  const std::set<const ir::Node*> inside(nodes.begin(), nodes.end());
  for (const ir::Node* node : nodes) {
    write_op(out, *node);
    for (const ir::Value* input : node->inputs) {
      if (!input) {
        out << "-;";
        continue;
      }
      const auto [entry, first] = numbers.try_emplace(input, numbers.size());
      out << "%" << entry->second << ";";
      if (first) write_origin(out, input);
    }
    for (const ir::Value* output : node->outputs) {
      numbers.try_emplace(output, numbers.size());
      out << "->%" << numbers.at(output) << ":" << ir::to_string(output->type);
      const auto uses = uses_.find(output);
      if (uses == uses_.end()) continue;
      std::multiset<std::string_view> readers;
      for (const ir::Node* user : uses->second.nodes)
        if (!inside.count(user)) readers.insert(user->op_name());
      for (std::string_view reader : readers) out << " " << reader;
      if (uses->second.outputs > 0) out << " output";
    }
    out << "\n";
  }
  return hash_of(out.str()).hex();
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
