// The base class of all searchers numbers the configs, keeps the budget, records the proposed
// trials with their outcomes, and decides when a search is over.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "autotune/random_words.h"
#include "autotune/search.h"
#include "autotune/space.h"

namespace tcc::autotune {

class BudgetedSearch : public Searcher {
 public:
  explicit BudgetedSearch(const SearchProblem& problem);

  // Returns the trials that choose() proposes; none once the bound is reached or the budget is
  // spent.
  std::vector<Trial> next_batch() final;
  void report(const Trial& trial, std::optional<double> seconds) final;

 protected:
  // A config that was proposed has these results so far.
  struct Result {
    std::optional<double> quick, full;  // median seconds
    bool failed = false;                // at either effort
    std::optional<double> seconds() const { return full ? full : quick; }
  };

  // Proposes the next batch; the search is over when it proposes nothing.
  virtual void choose() = 0;
  // Adds a trial to the batch. False when it was proposed before, failed, or the budget does not
  // reach for it.
  bool propose(size_t number, Effort effort);
  bool affordable(Effort effort) const { return spent_ + cost(effort) <= trials_ + 1e-9; }
  double cost(Effort effort) const { return effort == Effort::full ? 1 : problem_.quick_cost; }

  const SearchProblem& problem() const { return problem_; }
  const ConfigList& configs() const { return configs_; }
  const std::map<size_t, Result>& results() const { return results_; }
  bool visited(size_t number) const { return results_.count(number) != 0; }
  bool all_visited() const { return results_.size() == configs_.size(); }
  double spent() const { return spent_; }
  // It counts full measurements, those of the known configs included.
  double best_seconds() const { return best_seconds_; }
  // Returns every number once, in an order that the seed decides; `salt` distinguishes several
  // orders of one search.
  std::vector<size_t> shuffled(uint64_t salt) const;

 private:
  SearchProblem problem_;
  ConfigList configs_;
  double trials_;
  double spent_ = 0;
  double best_seconds_;
  std::map<size_t, Result> results_;
  std::map<size_t, std::pair<bool, bool>> proposed_;  // quick, full
  std::vector<Trial> batch_;
};

std::unique_ptr<Searcher> exhaustive_search(const SearchProblem& problem);
std::unique_ptr<Searcher> random_search(const SearchProblem& problem);
std::unique_ptr<Searcher> staged_search(const SearchProblem& problem);
std::unique_ptr<Searcher> evolutionary_search(const SearchProblem& problem);

}  // namespace tcc::autotune
