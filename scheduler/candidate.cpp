#include "scheduler/candidate.h"

#include <algorithm>

#include "scheduler/template.h"

namespace tcc::sched {
namespace {

template <class Once, class Make>
const auto& made_once(const Once& once, const Make& make) {
  std::call_once(once.flag, [&] { once.value = make(); });
  return *once.value;
}

// The quirks that switch off configs of a template.
std::vector<const exec::SwitchedOff*> configs_off(const Target& target, const Template& of) {
  std::vector<const exec::SwitchedOff*> all;
  for (const exec::SwitchedOff& off : target.switched_off)
    if (off.part == exec::Part::config && off.template_name == of.name()) all.push_back(&off);
  return all;
}

// The config with the shortest estimate of the legal ones; nothing where there is none.
std::optional<Config> fastest(const ConfigSpace& space, const CostModel& cost) {
  constexpr int kMost = 1 << 18;
  std::optional<Config> best;
  double least = 0;
  int seen = 0;
  space.enumerate([&](const Config& config) {
    const double seconds = cost(config);
    if (!best || seconds < least) {
      best = config;
      least = seconds;
    }
    return ++seen < kMost;
  });
  return best;
}

}  // namespace

const ConfigSpace& Candidate::own_space() const {
  return made_once(own_space_, [&] { return make_space(); });
}

const ConfigSpace& Candidate::space() const {
  return made_once(space_, [&] {
    ConfigSpace space = own_space();
    for (const exec::SwitchedOff* off : configs_off(target_, template_))
      space.constraints.push_back({off->text(), [values = off->values](const Config& config) {
                                     return !std::ranges::all_of(values, [&](const auto& value) {
                                       return config.has(value.first) &&
                                              config[value.first] == value.second;
                                     });
                                   }});
    return space;
  });
}

const Config& Candidate::default_config() const {
  return made_once(default_config_, [&] {
    Config config = make_default_config();
    if (configs_off(target_, template_).empty() || space().violation(config).empty()) return config;
    return fastest(space(), cost_model()).value_or(config);
  });
}

const CostModel& Candidate::cost_model() const {
  return made_once(cost_model_, [&] { return make_cost_model(); });
}

}  // namespace tcc::sched
