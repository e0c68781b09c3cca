#include "scheduler/candidate.h"

namespace tcc::sched {
namespace {

template <class Once, class Make>
const auto& made_once(const Once& once, const Make& make) {
  std::call_once(once.flag, [&] { once.value = make(); });
  return *once.value;
}

}  // namespace

const ConfigSpace& Candidate::space() const {
  return made_once(space_, [&] { return make_space(); });
}

const Config& Candidate::default_config() const {
  return made_once(default_config_, [&] { return make_default_config(); });
}

const CostModel& Candidate::cost_model() const {
  return made_once(cost_model_, [&] { return make_cost_model(); });
}

}  // namespace tcc::sched
