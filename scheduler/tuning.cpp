#include "scheduler/tuning.h"

#include "support/error.h"

namespace tcc::sched {
namespace {

class Analytic : public ConfigSource {
 public:
  ConfigChoice choose(const Candidate& candidate) const override {
    return {candidate.default_config(), Tier::analytic};
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

ConfigChoice FixedConfig::choose(const Candidate& candidate) const {
  const Config config = candidate.space().completed(config_);
  if (candidate.space().violation(config).empty()) return {config, Tier::exact};
  return analytic_configs().choose(candidate);
}

}  // namespace tcc::sched
