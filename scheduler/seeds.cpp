#include "scheduler/seeds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/passed_templates.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;

// Predicted seconds of candidates with their default configs. Layers repeat: a kernel is asked
// once.
class DefaultSeconds {
 public:
  double of(const Candidate& candidate) {
    const auto [entry, is_new] = known_.try_emplace(
        str(candidate.kernel_template().name(), " ", signature(candidate.region())));
    if (is_new) entry->second = candidate.default_seconds();
    return entry->second;
  }

 private:
  std::map<std::string, double> known_;
};

// Predicts the seconds of the seed's nodes in kernels of their own: one for each product, one for
// the rest where a template takes it, which counts nothing otherwise. Nothing where a product has
// no kernel of its own.
std::optional<double> seconds_apart(const FusionGroups& groups, const Unit& seed,
                                    DefaultSeconds& default_seconds) {
  double seconds = 0;
  Unit rest;
  for (const Node* node : seed) {
    if (node->op->kind != OpKind::contraction) {
      rest.push_back(node);
      continue;
    }
    const Match& product = groups.match({node});
    if (!product) return std::nullopt;
    seconds += default_seconds.of(**product);
  }
  if (rest.empty()) return seconds;
  const Match& between = groups.match(rest);
  return between ? seconds + default_seconds.of(**between) : seconds;
}

// Bytes that kernels of their own would pass on: the results of products but the last, as scores of
// an attention.
double bytes_between(const Unit& seed) {
  double bytes = 0, last = 0;
  for (const Node* node : seed) {
    if (node->op->kind != OpKind::contraction) continue;
    const ir::Value* result = node->outputs[0];
    bytes += last;
    last = static_cast<double>(ir::usual_numel(result)) *
           static_cast<double>(size_bytes(result->dtype()));
  }
  return bytes;
}

// Returns why the nodes are not one region, or "". With `tells_others`, a refusal by estimates also
// says why other templates do not take them.
std::string against(const FusionGroups& groups, const Target& target, const Template& by,
                    const Unit& seed, DefaultSeconds& default_seconds, bool tells_others) {
  const Match& match = groups.match(seed);
  if (!match) {
    const Region region = groups.region(seed);
    if (!is_asked(by, region, target)) return match.reason_by();
    const Match own = by.match(region, target);
    if (own) return match.reason_by();
    Refusal refusal = own.refusal();
    refusal.by = by.name();
    return refusal.reason_by();
  }
  const std::optional<double> apart = seconds_apart(groups, seed, default_seconds);
  double together = default_seconds.of(**match);
  if (apart && together > *apart && !groups.casts_of_operands(seed).empty())
    together = FusionGroups(groups).store_casts(seed);
  // Scores may be larger than all else, and one kernel keeps none of them. It may take twice as
  // long where they exceed a GiB, and whatever it takes where they would fill memory or a buffer.
  constexpr double kLarge = int64_t{1} << 30, kMost = 4 * kLarge, kBuffers = 4;
  const double between = bytes_between(seed);
  const double buffer = static_cast<double>(target.max_buffer_bytes) / kBuffers;
  const bool is_most = between > std::clamp(buffer, kLarge, kMost);
  if (!apart || is_most || together <= (between > kLarge ? 2 : 1) * *apart) return "";
  const auto microseconds = [](double seconds) {
    return static_cast<int64_t>(seconds * 1e6 + 0.5);
  };
  std::string reason =
      str("cost: one kernel (", (*match)->kernel_template().name(), ") would take about ",
          microseconds(together), " us, kernels of their own ", microseconds(*apart), " us");
  if (tells_others)
    for (const std::string& passed : passed_templates(**match)) reason += str("; not ", passed);
  return reason;
}

// Orders units by what they read, those that begin earlier in the graph first. Light nodes are
// nowhere: they stand in every region that uses them.
class Placement {
 public:
  Placement(const FusionGroups& groups, const std::vector<Unit>& seeds) : groups_(groups) {
    std::unordered_map<const Node*, size_t> seed_of;
    for (size_t s = 0; s < seeds.size(); ++s)
      for (const Node* node : seeds[s]) seed_of[node] = s;
    std::unordered_map<size_t, size_t> unit_of_seed;
    for (const auto& node : groups.graph().nodes()) {
      if (groups.is_light(node.get())) continue;
      const auto seed = seed_of.find(node.get());
      if (seed == seed_of.end()) {
        unit_of_[node.get()] = units_.size();
        units_.push_back({node.get()});
      } else if (const auto [entry, is_new] = unit_of_seed.emplace(seed->second, units_.size());
                 is_new) {
        for (const Node* member : seeds[seed->second]) unit_of_[member] = units_.size();
        units_.push_back(seeds[seed->second]);
      }
    }
  }

  // Leaves out units that wait for each other.
  std::vector<Unit> run() const {
    std::vector<std::set<size_t>> readers(units_.size());
    std::vector<size_t> waits(units_.size(), 0);
    for (size_t unit = 0; unit < units_.size(); ++unit)
      for (const size_t read : read_by(unit))
        if (readers[read].insert(unit).second) ++waits[unit];
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t unit = 0; unit < units_.size(); ++unit)
      if (waits[unit] == 0) ready.push(unit);
    std::vector<Unit> order;
    while (!ready.empty()) {
      const size_t unit = ready.top();
      ready.pop();
      order.push_back(units_[unit]);
      for (const size_t reader : readers[unit])
        if (--waits[reader] == 0) ready.push(reader);
    }
    return order;
  }

 private:
  std::set<size_t> read_by(size_t unit) const {
    std::set<size_t> read;
    std::set<const Node*> light;
    std::vector<const Node*> open = units_[unit];
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (const ir::Value* input : node->inputs) {
        const Node* producer = input ? input->producer : nullptr;
        if (!producer) continue;
        if (!groups_.is_light(producer))
          read.insert(unit_of_.at(producer));
        else if (light.insert(producer).second)
          open.push_back(producer);
      }
    }
    read.erase(unit);
    return read;
  }

  const FusionGroups& groups_;
  std::vector<Unit> units_;
  std::unordered_map<const Node*, size_t> unit_of_;
};

std::vector<Unit> accepted_seeds(const FusionGroups& groups, const Target& target,
                                 const SeedRefused& refused) {
  std::vector<Unit> accepted;
  std::set<const Node*> taken;
  DefaultSeconds default_seconds;
  for (const Template* by : templates()) {
    for (Unit seed : by->seeds(groups.graph(), target)) {
      std::erase_if(seed, [&](const Node* node) { return groups.is_light(node); });
      // Templates of higher specificity come first, and a node is in one region.
      if (std::ranges::any_of(seed, [&](const Node* node) { return taken.contains(node); }))
        continue;
      if (const std::string reason =
              against(groups, target, *by, seed, default_seconds, refused != nullptr);
          !reason.empty()) {
        if (refused) refused(seed, reason);
        continue;
      }
      taken.insert(seed.begin(), seed.end());
      accepted.push_back(std::move(seed));
    }
    if (!refused) continue;
    for (const NearSeed& near : by->near_seeds(groups.graph())) {
      Unit nodes = near.nodes;
      std::erase_if(nodes, [&](const Node* node) { return groups.is_light(node); });
      refused(nodes, str(by->name(), ": ", near.reason));
    }
  }
  return accepted;
}

}  // namespace

std::vector<Unit> units_with_seeds(const FusionGroups& groups, const Target& target,
                                   const SeedRefused& refused) {
  std::vector<Unit> seeds = accepted_seeds(groups, target, refused);
  for (;;) {
    std::vector<Unit> order = Placement(groups, seeds).run();
    const std::set<Unit> placed(order.begin(), order.end());
    const auto stuck =
        std::ranges::find_if(seeds, [&](const Unit& seed) { return !placed.contains(seed); });
    if (stuck == seeds.end()) return order;
    if (refused) refused(*stuck, "rule: what it reads waits for its results");
    seeds.erase(stuck);
  }
}

std::set<const Node*> seeded_nodes(const ir::Graph& graph, const Target& target,
                                   const RegionPrecision& precision) {
  std::set<const Node*> nodes;
  const auto proposes = [&](const Template* by) { return !by->seeds(graph, target).empty(); };
  if (std::ranges::none_of(templates(), proposes)) return nodes;
  for (const Unit& unit : units_with_seeds(FusionGroups(graph, target, precision), target))
    if (unit.size() > 1) nodes.insert(unit.begin(), unit.end());
  return nodes;
}

}  // namespace tcc::sched
