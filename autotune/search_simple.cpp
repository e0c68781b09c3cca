// Searches that learn nothing on the way: every config, or a uniform sample.
#include <numeric>

#include "autotune/search_base.h"

namespace tcc::autotune {
namespace {

// Large enough that compilers stay busy, small enough that reaching the bound ends the search soon.
constexpr size_t kPointsAtOnce = 64;

class ListSearch : public BudgetedSearch {
 public:
  ListSearch(const SearchProblem& problem, bool in_order) : BudgetedSearch(problem) {
    if (in_order) {
      order_.resize(configs().size());
      std::iota(order_.begin(), order_.end(), 0);
    } else {
      order_ = shuffled(0);
    }
  }

 private:
  void choose() override {
    for (size_t chosen = 0; chosen < kPointsAtOnce && next_ < order_.size(); ++next_)
      if (propose(order_[next_], Effort::full)) ++chosen;
  }

  std::vector<size_t> order_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> exhaustive_search(const SearchProblem& problem) {
  return std::make_unique<ListSearch>(problem, true);
}

std::unique_ptr<Searcher> random_search(const SearchProblem& problem) {
  return std::make_unique<ListSearch>(problem, false);
}

}  // namespace tcc::autotune
