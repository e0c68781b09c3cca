// The default search. Configs are ranked by the analytic estimate; the top of the ranking and a
// seeded random share are screened with quick measurements; a model of how far the estimate was off
// (search_model.h) then picks what is measured next, near the best and everywhere; the fastest of
// the quick ones are measured fully. A wrong estimate costs trials, not the optimum: the random
// share goes on to the end, and the model learns from it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "autotune/search_base.h"
#include "autotune/search_model.h"

namespace tcc::autotune {
namespace {

constexpr size_t kMaxRanked = size_t{1} << 16;  // larger spaces are ranked by a sample
constexpr size_t kMaxFitted = 384;              // that the model is fitted to: the fastest
constexpr double kScreened = 0.3;               // of the budget
constexpr double kReserved = 0.15;              // of the budget, for full measurements at the end
constexpr size_t kLeastBatch = 4;
constexpr size_t kBest = 4;                               // configs whose neighbours are looked at
constexpr double kQuickNoise = 0.04, kFullNoise = 0.015;  // of a logarithm of seconds
constexpr double kCuriosity = 0.7;  // standard deviations that the unknown is favoured by

class StagedSearch : public BudgetedSearch {
 public:
  explicit StagedSearch(const SearchProblem& problem)
      : BudgetedSearch(problem),
        first_look_(problem.quick_cost < 1 ? Effort::quick : Effort::full),
        order_(shuffled(0)) {
    for (size_t number : order_) {
      if (ranked_.size() >= kMaxRanked) break;
      add(number);
    }
    std::sort(ranked_.begin(), ranked_.end(), before);
    for (size_t i = 0; i < ranked_.size(); ++i) place_[ranked_[i].number] = i;
  }

 private:
  struct Candidate {
    size_t number;
    uint64_t hash;        // decides ties
    double log_estimate;  // 0 without an estimate
    std::vector<int> positions;
  };
  struct Scored {
    double score;
    const Candidate* candidate;
    friend bool operator<(const Scored& a, const Scored& b) {
      return std::pair(a.score, a.candidate->hash) < std::pair(b.score, b.candidate->hash);
    }
  };

  static bool before(const Candidate& a, const Candidate& b) {
    return std::pair(a.log_estimate, a.hash) < std::pair(b.log_estimate, b.hash);
  }

  void add(size_t number) {
    const sched::Config config = configs().at(number);
    double log_estimate = 0;
    if (problem().estimate) {
      const double seconds = problem().estimate(config);
      // Configs that the model takes for impossible come last; how bad they are does not matter.
      log_estimate = std::isfinite(seconds) && seconds > 0 ? std::log(seconds) : 50;
    }
    place_[number] = ranked_.size();
    ranked_.push_back({number, config.hash(), log_estimate, configs().positions(number)});
  }
  const Candidate& candidate(size_t number) {
    if (!place_.count(number)) add(number);
    return ranked_[place_.at(number)];
  }

  size_t count_for(double budget) const {
    return static_cast<size_t>(std::max(0.0, budget) / cost(first_look_));
  }

  void choose() override {
    const auto budget = static_cast<double>(problem().trials);
    if (!screened_) {
      screened_ = true;
      screen(std::max(kLeastBatch, count_for(kScreened * budget)));
      return;
    }
    if (settled()) return;
    const bool ending = first_look_ == Effort::quick && budget - spent() <= kReserved * budget + 1;
    if (ending && promote(static_cast<size_t>(budget - spent() + 1), kFinalMargin)) return;
    const size_t batch = std::max(kLeastBatch, count_for(budget / 8));
    promote(std::max<size_t>(1, batch / 8), kMargin);
    explore(batch);
  }

  // Half from the top of the ranking, no two of them neighbours; the others from the order of the
  // seed, first those that the estimate finds better than most.
  void screen(size_t count) {
    size_t chosen = 0;
    if (problem().estimate) {
      std::vector<const Candidate*> taken;
      for (const Candidate& c : ranked_) {
        if (chosen * 2 >= count) break;
        const bool crowded = std::any_of(taken.begin(), taken.end(), [&](const Candidate* t) {
          int steps = 0;
          for (size_t p = 0; p < c.positions.size(); ++p)
            steps += std::abs(c.positions[p] - t->positions[p]);
          return steps <= 1;
        });
        if (crowded || !propose(c.number, first_look_)) continue;
        taken.push_back(&c);
        ++chosen;
      }
      for (size_t number : order_) {
        if (chosen * 4 >= count * 3) break;
        const auto place = place_.find(number);
        if (place == place_.end() || place->second > ranked_.size() / 4) continue;
        if (propose(number, first_look_)) ++chosen;
      }
    }
    for (; chosen < count && pick_random(); ++chosen) {}
  }

  bool pick_random() {
    while (next_random_ < order_.size() && affordable(first_look_)) {
      const size_t number = order_[next_random_++];
      if (visited(number) || !propose(number, first_look_)) continue;
      drawn_.push_back(number);
      return true;
    }
    return false;
  }

  // Visited configs, fastest first.
  std::vector<std::pair<double, size_t>> fastest() {
    std::vector<Scored> order;
    for (const auto& [number, result] : results())
      if (result.seconds()) candidate(number);  // before pointers are taken
    for (const auto& [number, result] : results())
      if (result.seconds()) order.push_back({*result.seconds(), &candidate(number)});
    std::sort(order.begin(), order.end());
    std::vector<std::pair<double, size_t>> numbers;
    for (const Scored& s : order) numbers.emplace_back(s.score, s.candidate->number);
    return numbers;
  }

  // Measures up to `count` of the fastest quick ones fully, if they may be faster than the best.
  bool promote(size_t count, double margin) {
    if (first_look_ == Effort::full) return false;
    size_t promoted = 0;
    for (const auto& [seconds, number] : fastest()) {
      if (promoted == count || seconds > best_seconds() * margin) break;
      if (!results().at(number).full && propose(number, Effort::full)) ++promoted;
    }
    return promoted > 0;
  }

  ResidualModel fit() {
    std::vector<ResidualModel::Sample> samples;
    double worst = -std::numeric_limits<double>::infinity();
    for (const auto& [seconds, number] : fastest()) {
      if (samples.size() == kMaxFitted) break;
      const Candidate& c = candidate(number);
      const double residual = std::log(seconds) - c.log_estimate;
      worst = std::max(worst, residual);
      samples.push_back(
          {c.positions, residual, results().at(number).full ? kFullNoise : kQuickNoise});
    }
    if (samples.empty()) return ResidualModel({});
    // A config near one that failed is likely to fail.
    for (const auto& [number, result] : results())
      if (result.failed && samples.size() < kMaxFitted)
        samples.push_back({candidate(number).positions, worst + std::log(2.0), kQuickNoise});
    return ResidualModel(std::move(samples));
  }

  // The `count` best by the corrected estimate among `numbers` that were not visited.
  void propose_best(const ResidualModel& model, const std::vector<size_t>& numbers, size_t count) {
    for (size_t number : numbers) candidate(number);
    std::vector<Scored> scored;
    for (size_t number : numbers) {
      if (visited(number)) continue;
      const Candidate& c = candidate(number);
      scored.push_back({c.log_estimate + model.mean(c.positions), &c});
    }
    // The deviation is dear; it decides among those that are in question.
    const size_t shortlist = std::min(scored.size(), 16 * count);
    const auto end = scored.begin() + static_cast<long>(shortlist);
    std::partial_sort(scored.begin(), end, scored.end());
    scored.erase(end, scored.end());
    for (Scored& s : scored) s.score -= kCuriosity * model.deviation(s.candidate->positions);
    std::sort(scored.begin(), scored.end());
    for (const Scored& s : scored) {
      if (count == 0) break;
      if (propose(s.candidate->number, first_look_)) --count;
    }
  }

  // Half near the best, an eighth at random, the rest wherever the model expects most.
  void explore(size_t batch) {
    // A quick look that leaves nothing for the full measurement after it is lost.
    if (first_look_ == Effort::quick && !affordable(Effort::full)) return;
    const ResidualModel model = fit();
    std::vector<size_t> near;
    const auto order = fastest();
    for (size_t i = 0; i < order.size() && i < kBest; ++i)
      for (int steps : {1, 2}) {
        const auto more = configs().neighbours(order[i].second, steps);
        near.insert(near.end(), more.begin(), more.end());
      }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    propose_best(model, near, batch / 2);
    std::vector<size_t> everywhere;
    for (const Candidate& c : ranked_) everywhere.push_back(c.number);
    const size_t drawn = std::max<size_t>(1, batch / 8);
    propose_best(model, everywhere, batch - batch / 2 - drawn);
    for (size_t i = 0; i < drawn && pick_random(); ++i) {}
  }

  // Returns whether the estimate has been so close to every measurement of this sweep, the randomly
  // drawn ones among them, that no config that is left can win.
  bool settled() const {
    constexpr size_t kLeastMeasured = 24, kLeastDrawn = 8;
    constexpr double kLargestSpread = 0.7;  // logarithm: a factor of two
    if (!problem().estimate || ranked_.size() < configs().size()) return false;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    size_t measured = 0;
    for (const auto& [number, result] : results()) {
      if (!result.seconds()) continue;
      const double off = std::log(*result.seconds()) - ranked_[place_.at(number)].log_estimate;
      low = std::min(low, off);
      high = std::max(high, off);
      ++measured;
    }
    const auto drawn = std::count_if(drawn_.begin(), drawn_.end(), [&](size_t number) {
      return results().at(number).seconds().has_value();
    });
    if (measured < kLeastMeasured || static_cast<size_t>(drawn) < kLeastDrawn ||
        high - low > kLargestSpread)
      return false;
    // The time of an unseen config may be off by half the spread more than that of a seen one.
    const double floor = low - (high - low) / 2 - kQuickNoise;
    const double best = std::log(best_seconds());
    return std::all_of(ranked_.begin(), ranked_.end(), [&](const Candidate& c) {
      const auto found = results().find(c.number);
      if (found == results().end()) return c.log_estimate + floor >= best;
      const Result& result = found->second;
      return result.failed || result.full || *result.quick > best_seconds() * kFinalMargin;
    });
  }

  // How much slower than the best a quick measurement may be to be looked at again: on the way, and
  // with what is left at the end.
  static constexpr double kMargin = 1.05, kFinalMargin = 1.15;

  Effort first_look_;
  std::vector<size_t> order_;  // all numbers, in the order of the seed
  size_t next_random_ = 0;
  std::vector<size_t> drawn_;                 // at random, whatever the estimate said of them
  std::vector<Candidate> ranked_;             // best estimate first; then what came later
  std::unordered_map<size_t, size_t> place_;  // of a number in ranked_
  bool screened_ = false;
};

}  // namespace

std::unique_ptr<Searcher> staged_search(const SearchProblem& problem) {
  return std::make_unique<StagedSearch>(problem);
}

}  // namespace tcc::autotune
