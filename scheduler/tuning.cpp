#include "scheduler/tuning.h"

#include "support/error.h"

namespace tcc::sched {
namespace {

class Analytic : public ConfigSource {
 public:
  ConfigChoice choose(const Template& kernel_template, const Region& region,
                      const Target& target) const override {
    return {kernel_template.default_config(region, target), Tier::analytic};
  }
};

}  // namespace

std::string_view name(Tier tier) {
  switch (tier) {
    case Tier::exact: return "exact";
    case Tier::stale: return "stale";
    case Tier::nearest: return "nearest";
    case Tier::device: return "device";
    case Tier::analytic: return "default";
  }
  throw InternalError("a tier without a name");
}

const ConfigSource& analytic_configs() {
  static const Analytic instance;
  return instance;
}

ConfigChoice FixedConfig::choose(const Template& kernel_template, const Region& region,
                                 const Target& target) const {
  if (kernel_template.space(region, target).violation(config_).empty())
    return {config_, Tier::exact};
  return analytic_configs().choose(kernel_template, region, target);
}

}  // namespace tcc::sched
