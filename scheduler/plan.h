// A plan holds choices that span regions: split a reduction or not, fuse or not. Each pass that has
// such a choice states it as a site; a source (tuning, a test) may choose another alternative than
// the default.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "scheduler/target.h"

namespace tcc::sched {

// One decision. Sites of equal kind and key are one decision, wherever their subgraphs occur.
struct PlanSite {
  std::string kind;                   // one of plan_kinds()
  std::string key;                    // 32 digits: the subgraph's hash, see Subgraph
  std::vector<int64_t> alternatives;  // ascending, at least two; each gives a right program
  int64_t default_choice = 0;         // one of them: what is taken without tuning
  std::string description;            // for people: "matmul f32[64, 512], K = 4096: parts"
};

// "split_reduction", "split_k", "split_scan", "fuse", "pad_inputs", "pad_images", "phases": all
// that any pass asks about.
std::span<const std::string_view> plan_kinds();

class PlanSource {
 public:
  virtual ~PlanSource() = default;
  // One of the site's alternatives. Thread-safe.
  virtual int64_t choose(const PlanSite& site, const Target& target) const = 0;
};

// Passes ask a Plan for choices. It wraps a source (null: the defaults) and the target that is
// compiled for; both outlive it.
class Plan {
 public:
  Plan() = default;
  Plan(const PlanSource* source, const Target& target) : source_(source), target_(&target) {}
  // TCC_CHECKs the site and that the answer is an alternative.
  int64_t choose(const PlanSite& site) const;

 private:
  const PlanSource* source_ = nullptr;
  const Target* target_ = nullptr;
};

// Writes down the part of a graph around a decision, so that it is recognised in other graphs and
// after other compilations: ops, attributes and types of its nodes, how they are wired, where their
// operands come from (views, the op behind them, constants) and which ops read their results.
class Subgraph {
 public:
  explicit Subgraph(const ir::Graph& graph) : uses_(graph.uses()) {}
  // Returns 32 digits. The first `part` nodes are distinguished from the others, for a decision
  // whether the two parts become one region.
  std::string key(std::span<const ir::Node* const> nodes, size_t part = 0) const;

 private:
  std::string readers(const ir::Value* value, const std::set<const ir::Node*>& inside) const;
  std::map<const ir::Value*, ir::Graph::Uses> uses_;
};

// Returns the candidates that divide `total` and lie in [low, high], ascending, each once.
std::vector<int64_t> divisors_among(std::vector<int64_t> candidates, int64_t total, int64_t low,
                                    int64_t high);

}  // namespace tcc::sched
