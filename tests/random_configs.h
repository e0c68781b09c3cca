// Random configs, most of which are bad choices: for each kernel of a compilation a random one of
// its space.
#pragma once

#include <random>

#include "scheduler/tuning.h"

namespace tcc::test {

// The same ones for the same seed. The tier is `exact`; where 4000 draws break the constraints, the
// default with tier `analytic`.
class RandomConfigs : public sched::ConfigSource {
 public:
  explicit RandomConfigs(uint64_t seed) : seed_(seed) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    const sched::ConfigSpace& space = candidate.space();
    std::mt19937_64 random(seed_);
    for (int tries = 0; tries < 4000; ++tries) {
      sched::Config config;
      for (const sched::Parameter& p : space.parameters)
        config.set(p.name, p.values[random() % p.values.size()]);
      if (space.violation(config).empty()) return {config, sched::Tier::exact};
    }
    return {candidate.default_config(), sched::Tier::analytic};
  }

 private:
  uint64_t seed_;
};

}  // namespace tcc::test
