// A kernel template: how one kind of region becomes a kernel.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Predicted seconds of a legal config, for ranking. Cheap: a space of a million configs is ranked.
using CostModel = std::function<double(const Config&)>;

class Template {
 public:
  virtual ~Template() = default;
  virtual std::string_view name() const = 0;
  // Raised whenever a config's meaning changes: records of another version are unusable.
  virtual int version() const = 0;
  virtual bool accepts(const Region& region, const Target& target) const = 0;
  virtual ConfigSpace space(const Region& region, const Target& target) const = 0;
  // A legal config of the space without tuning: the analytic model's choice.
  virtual Config default_config(const Region& region, const Target& target) const = 0;
  // The analytic model of the region's kernels (scheduler/templates/cost.h): what does not depend
  // on the config is worked out once. The result owns what it needs.
  virtual CostModel cost_model(const Region& region, const Target& target) const = 0;
  // The model's answer for one config.
  double estimate(const Region& region, const Config& config, const Target& target) const {
    return cost_model(region, target)(config);
  }
  // Whether the region's kernels cut long sums among threads and workgroups well enough by
  // themselves. Where not, and the result has few tiles, the graph cuts them (split_contractions).
  virtual bool splits_sums(const Region&, const Target&) const { return false; }
  // Deterministic; `config` is legal. The result is not legalised yet.
  virtual Kernel lower(const Region& region, const Config& config, const Target& target) const = 0;
};

// All templates, more specific ones first: the first that accepts a region takes it.
std::span<const Template* const> templates();
const Template* find_template(std::string_view name);
// Throws InternalError when no template accepts: partition makes only regions that one does.
const Template& template_for(const Region& region, const Target& target);

}  // namespace tcc::sched
