// Made-up kernels for tests of searches: spaces, and landscapes of times over them.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autotune/random_words.h"
#include "autotune/trial_log.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/target_profile.h"
#include "scheduler/template.h"
#include "tests/source_dir.h"

namespace tcc::autotune {

inline sched::ConfigSpace triangle() {
  sched::ConfigSpace space;
  space.parameters = {{"a", {1, 2, 3, 4, 5, 6, 7, 8}, ""}, {"b", {1, 2, 3, 4, 5, 6, 7, 8}, ""}};
  space.constraints = {{"a <= b", [](const sched::Config& c) { return c["a"] <= c["b"]; }}};
  return space;  // 36 legal configs
}

// A target by name; profiles are the repository's, wherever the test runs.
inline sched::Target test_target(const std::string& name) {
  constexpr std::string_view kVulkan = "vulkan:";
  if (!name.starts_with(kVulkan)) return sched::target_by_name(name);
  return sched::read_profile(tcc::testing::source_dir() / "configs" / "targets" /
                             (name.substr(kVulkan.size()) + ".yaml"));
}

// The first region of a graph for a target, and what its candidate says of it.
struct TemplateCase {
  backends::Scheduled scheduled;
  sched::Target target;
  sched::ConfigSpace space;
  sched::CostModel model;
  sched::Config default_config;

  // `plan`: what the graph's passes choose; null: their defaults.
  TemplateCase(const std::string& inputs, const std::string& node, const std::string& target_name,
               const sched::PlanSource* plan = nullptr)
      : scheduled(schedule(inputs, node, target_name, plan)),
        target(test_target(target_name)),
        space(candidate().space()),
        model(candidate().cost_model()),
        default_config(candidate().default_config()) {}

  const sched::Candidate& candidate() const { return scheduled.regions.at(0).candidate(); }
  const sched::Region& region() const { return candidate().region(); }

 private:
  static backends::Scheduled schedule(const std::string& inputs, const std::string& node,
                                      const std::string& target_name,
                                      const sched::PlanSource* plan) {
    const std::string text = "tcc: 1\nname: test\ninputs: {" + inputs + "}\nnodes:\n  - {out: y, " +
                             node + "}\noutputs: [y]\n";
    backends::CompileOptions options;
    options.plan = plan;
    return backends::schedule(parse_yaml_graph(text, "test.yaml", "."), test_target(target_name),
                              options);
  }
};

// The distance of a landscape's logarithm of seconds from the estimate: effects of single values,
// of pairs of values, of single configs; steep edges at some pairs; and noise of each sample, which
// only ever adds.
struct Roughness {
  double single = 0.15, pairs = 0.08, config = 0.04, edges = 0.02, noise = 0.01;
};

class Landscape {
 public:
  Landscape(const sched::ConfigSpace& space, sched::CostModel model, const Roughness& roughness,
            uint64_t seed)
      : space_(space), model_(std::move(model)), roughness_(roughness), seed_(seed) {}

  double seconds(const sched::Config& config) const {
    double log = std::log(model_(config)) + roughness_.config * normal(config.hash());
    for (size_t p = 0; p < space_.parameters.size(); ++p) {
      const uint64_t one = value_key(config, p);
      log += roughness_.single * normal(one);
      for (size_t q = p + 1; q < space_.parameters.size(); ++q) {
        const uint64_t both = one * 31 + value_key(config, q);
        log += roughness_.pairs * normal(both);
        if (RandomWords(both ^ seed_ ^ 1).uniform(0, 1) < roughness_.edges) log += 0.5;
      }
    }
    return std::exp(log);
  }

  // An exhaustive log.
  TaskHistory history(const sched::Config& default_config, size_t samples) const {
    TaskHistory history;
    history.task.space.parameters = space_.parameters;
    history.task.default_config = default_config;
    history.task.name = "made_up";
    RandomWords random(seed_);
    space_.enumerate([&](const sched::Config& config) {
      LoggedTrial trial;
      trial.config = config;
      trial.estimate = model_(config);
      trial.result.status = Measurement::Status::measured;
      trial.result.seconds = seconds(config);
      for (size_t i = 0; i < samples; ++i)
        trial.result.samples.push_back(trial.result.seconds *
                                       (1 + roughness_.noise * std::abs(normal(random.next()))));
      history.trials.push_back(std::move(trial));
      return true;
    });
    return history;
  }

 private:
  uint64_t value_key(const sched::Config& config, size_t parameter) const {
    const std::string& name = space_.parameters[parameter].name;
    return sched::Config{{name, config[name]}}.hash();
  }
  // About normal, of mean 0 and deviation 1.
  double normal(uint64_t key) const {
    RandomWords random(key ^ (seed_ * 0x9e3779b97f4a7c15ull));
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform(0, 1);
    return sum;
  }

  const sched::ConfigSpace& space_;
  sched::CostModel model_;
  Roughness roughness_;
  uint64_t seed_;
};

}  // namespace tcc::autotune
