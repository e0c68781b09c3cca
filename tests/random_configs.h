// Random configs, most of which are bad choices: for each kernel of a compilation a random one of
// its space.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "scheduler/template.h"
#include "scheduler/tuning.h"
#include "support/error.h"

namespace tcc::test {

// The same ones for the same seed. The tier is `exact`.
class RandomConfigs : public sched::ConfigSource {
 public:
  explicit RandomConfigs(uint64_t seed) : seed_(seed) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    std::mt19937_64 random(seed_);
    const std::vector<sched::Config> drawn = candidate.space().draw(std::ref(random), 1);
    TCC_CHECK(!drawn.empty(), "no config of ", candidate.kernel_template().name(), " was drawn");
    return {drawn.front(), sched::Tier::exact};
  }

 private:
  uint64_t seed_;
};

}  // namespace tcc::test
