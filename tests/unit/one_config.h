// Candidates of templates that tests add: kernels have one thread and one config.
#pragma once

#include "scheduler/candidate.h"

namespace tcc::sched::testing {

class OneConfig : public Candidate {
 public:
  OneConfig(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = {{"threads", {1}, "threads of a workgroup"}};
    return space;
  }
  Config make_default_config() const override { return {{"threads", 1}}; }
  CostModel make_cost_model() const override {
    return [](const Config&) { return 1e-6; };
  }
};

}  // namespace tcc::sched::testing
