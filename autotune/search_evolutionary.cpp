// Regularised evolution (Real et al., 2019) with crossover: the young replace the old, whatever
// their times, so that a lucky measurement does not rule forever.
#include <algorithm>
#include <deque>

#include "autotune/search_base.h"

namespace tcc::autotune {
namespace {

constexpr size_t kGeneration = 8;
constexpr size_t kTournament = 3;
constexpr int kAttempts = 64;  // at a legal child that is new

class EvolutionarySearch : public BudgetedSearch {
 public:
  explicit EvolutionarySearch(const SearchProblem& problem)
      : BudgetedSearch(problem),
        random_(problem.seed),
        order_(shuffled(1)),
        population_size_(std::max<size_t>(8, problem.trials / 4)) {
    for (const KnownConfig& known : problem.known)
      if (const auto number = configs().find(known.config)) born_.push_back(*number);
  }

 private:
  void choose() override {
    size_t chosen = 0;
    if (!started_) {
      started_ = true;
      while (chosen < population_size_ && immigrate()) ++chosen;
      return;
    }
    grow_up();
    while (chosen < kGeneration && (breed() || immigrate())) ++chosen;
  }

  bool propose_new(size_t number) {
    if (visited(number) || !propose(number, Effort::full)) return false;
    born_.push_back(number);
    return true;
  }

  bool immigrate() {
    while (next_ < order_.size() && affordable(Effort::full))
      if (propose_new(order_[next_++])) return true;
    return false;
  }

  // The configs of the last batch join the population; the oldest ones leave.
  void grow_up() {
    for (size_t number : born_)
      if (results().at(number).full) population_.push_back(number);
    born_.clear();
    while (population_.size() > population_size_) population_.pop_front();
  }

  std::vector<int> parent() {
    size_t best = population_[random_.below(population_.size())];
    for (size_t i = 1; i < kTournament; ++i) {
      const size_t rival = population_[random_.below(population_.size())];
      if (*results().at(rival).full < *results().at(best).full) best = rival;
    }
    return configs().positions(best);
  }

  // A child of two parents, one parameter of which takes a step or a leap.
  bool breed() {
    if (population_.empty() || configs().parameters() == 0) return false;
    for (int attempt = 0; attempt < kAttempts && affordable(Effort::full); ++attempt) {
      std::vector<int> child = parent();
      const std::vector<int> other = parent();
      for (size_t p = 0; p < child.size(); ++p)
        if (random_.below(2) == 0) child[p] = other[p];
      const size_t changed = random_.below(child.size());
      if (random_.below(4) == 0)
        child[changed] =
            static_cast<int>(random_.below(static_cast<uint64_t>(configs().values(changed))));
      else
        child[changed] += random_.below(2) == 0 ? 1 : -1;
      const auto number = configs().find_positions(child);
      if (number && propose_new(*number)) return true;
    }
    return false;
  }

  RandomWords random_;
  std::vector<size_t> order_;  // where new blood comes from
  size_t next_ = 0;
  size_t population_size_;
  std::deque<size_t> population_;  // oldest first
  std::vector<size_t> born_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Searcher> evolutionary_search(const SearchProblem& problem) {
  return std::make_unique<EvolutionarySearch>(problem);
}

}  // namespace tcc::autotune
