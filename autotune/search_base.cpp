#include "autotune/search_base.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/error.h"

namespace tcc::autotune {
BudgetedSearch::BudgetedSearch(const SearchProblem& problem)
    : problem_(problem),
      configs_(*problem.space),
      trials_(static_cast<double>(problem.trials)),
      best_seconds_(std::numeric_limits<double>::infinity()) {
  TCC_CHECK(problem.quick_cost > 0, "a quick trial must cost something");
  for (const KnownConfig& known : problem.known) {
    if (known.seconds > 0) best_seconds_ = std::min(best_seconds_, known.seconds);
    const auto number = configs_.find(known.config);
    if (!number) continue;
    Result& result = results_[*number];
    if (known.seconds > 0)
      result.full = known.seconds;
    else
      result.failed = true;
    proposed_[*number] = {true, true};
  }
}

std::vector<Trial> BudgetedSearch::next_batch() {
  batch_.clear();
  if (best_seconds_ > problem_.bound_seconds * kNearBound) choose();
  return std::move(batch_);
}

bool BudgetedSearch::propose(size_t number, Effort effort) {
  if (!affordable(effort)) return false;
  auto& [quick, full] = proposed_[number];
  bool& proposed = effort == Effort::quick ? quick : full;
  if (proposed || results_[number].failed) return false;
  proposed = true;
  spent_ += cost(effort);
  batch_.push_back({configs_.at(number), effort});
  return true;
}

void BudgetedSearch::report(const Trial& trial, std::optional<double> seconds) {
  const auto number = configs_.find(trial.config);
  TCC_CHECK(number && visited(*number),
            "a trial was reported that was never proposed: ", trial.config.to_string());
  Result& result = results_[*number];
  if (!seconds) {
    result = Result();
    result.failed = true;
  } else if (trial.effort == Effort::quick) {
    result.quick = seconds;
  } else {
    result.full = seconds;
    best_seconds_ = std::min(best_seconds_, *seconds);
  }
}

std::vector<size_t> BudgetedSearch::shuffled(uint64_t salt) const {
  std::vector<size_t> order(configs_.size());
  std::iota(order.begin(), order.end(), 0);
  RandomWords random(problem_.seed ^ (salt * 0x9e3779b97f4a7c15ull));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace tcc::autotune
