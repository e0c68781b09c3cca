// Random configs, most of which are bad choices: for each kernel of a compilation a random one of
// its space.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scheduler/template.h"
#include "scheduler/tuning.h"
#include "support/error.h"

namespace tcc::test {

// The same ones for the same seed. The tier is `exact`.
class RandomConfigs : public sched::ConfigSource {
 public:
  // `fixed`: values of parameters that are not drawn, in spaces with legal configs of them.
  explicit RandomConfigs(uint64_t seed, std::map<std::string, int64_t> fixed = {})
      : seed_(seed), fixed_(std::move(fixed)) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    std::mt19937_64 random(seed_);
    sched::ConfigSpace space = candidate.space();
    for (sched::Parameter& parameter : space.parameters)
      if (const auto value = fixed_.find(parameter.name); value != fixed_.end())
        parameter.values = {value->second};
    std::vector<sched::Config> drawn = space.draw(std::ref(random), 1);
    if (drawn.empty()) drawn = candidate.space().draw(std::ref(random), 1);
    TCC_CHECK(!drawn.empty(), "no config of ", candidate.kernel_template().name(), " was drawn");
    return {drawn.front(), sched::Tier::exact};
  }

 private:
  uint64_t seed_;
  std::map<std::string, int64_t> fixed_;
};

}  // namespace tcc::test
