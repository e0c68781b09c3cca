// Spaces by number, the searches' rules, and what the default search learns.
#include "autotune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/search_model.h"
#include "autotune/space.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/unit/search_fixture.h"

namespace tcc::autotune {
namespace {

constexpr SearchKind kKinds[] = {SearchKind::automatic, SearchKind::exhaustive, SearchKind::random,
                                 SearchKind::staged, SearchKind::evolutionary};

// Rises away from (3, 6).
double bowl(const sched::Config& c) {
  return 1 + std::abs(static_cast<double>(c["a"] - 3)) + std::abs(static_cast<double>(c["b"] - 6));
}

struct Sweep {
  std::vector<Trial> trials;
  double spent = 0;
  double best = 0;  // of full trials
  sched::Config best_config;
};

Sweep run(SearchKind kind, const SearchProblem& problem,
          const std::function<std::optional<double>(const sched::Config&)>& seconds) {
  Sweep sweep;
  for (const KnownConfig& known : problem.known) {
    if (sweep.best > 0 && known.seconds >= sweep.best) continue;
    sweep.best = known.seconds;
    sweep.best_config = known.config;
  }
  auto searcher = make_searcher(kind, problem);
  for (auto batch = searcher->next_batch(); !batch.empty(); batch = searcher->next_batch())
    for (const Trial& trial : batch) {
      sweep.trials.push_back(trial);
      sweep.spent += trial.effort == Effort::full ? 1 : problem.quick_cost;
      const auto time = seconds(trial.config);
      searcher->report(trial, time);
      if (!time || trial.effort != Effort::full || *time >= sweep.best) continue;
      sweep.best = *time;
      sweep.best_config = trial.config;
    }
  return sweep;
}

SearchProblem problem_of(const sched::ConfigSpace& space, size_t trials, uint64_t seed = 0) {
  SearchProblem problem;
  problem.space = &space;
  problem.known = {{{{"a", 1}, {"b", 1}}, 9}};
  problem.trials = trials;
  problem.seed = seed;
  return problem;
}

// ---- spaces

TEST(ConfigListTest, NumbersAreTheLexicographicOrder) {
  const sched::ConfigSpace space = triangle();
  const ConfigList list(space);
  ASSERT_EQ(list.size(), 36u);
  size_t number = 0;
  space.enumerate([&](const sched::Config& config) {
    EXPECT_EQ(list.at(number), config);
    EXPECT_EQ(list.find(config), number);
    ++number;
    return true;
  });
  EXPECT_FALSE(list.find({{"a", 2}, {"b", 1}}));
  EXPECT_FALSE(list.find({{"a", 1}, {"b", 9}}));
  EXPECT_FALSE(list.find({{"a", 1}}));
  EXPECT_FALSE(list.find({{"a", 1}, {"b", 1}, {"c", 1}}));
}

TEST(ConfigListTest, NeighboursAreLegalAndExactlySoFarAway) {
  const ConfigList list(triangle());
  for (size_t i = 0; i < list.size(); ++i)
    for (int steps : {1, 2}) {
      std::vector<size_t> expected;
      for (size_t j = 0; j < list.size(); ++j) {
        const auto a = list.positions(i), b = list.positions(j);
        if (std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) == steps) expected.push_back(j);
      }
      EXPECT_EQ(list.neighbours(i, steps), expected) << list.at(i).to_string();
    }
}

TEST(ConfigListTest, ParametersBeyondCountingAreRefused) {
  sched::ConfigSpace space;
  for (int p = 0; p < 40; ++p)
    space.parameters.push_back({"p" + std::to_string(p), {1, 2, 3, 4}, ""});
  EXPECT_THROW(ConfigList{space}, Error);
}

// ---- what holds for every search

TEST(SearchTest, NamesReadBack) {
  for (SearchKind kind : kKinds) EXPECT_EQ(search_kind(name(kind)), kind);
  EXPECT_FALSE(search_kind("simulated-annealing"));
}

TEST(SearchTest, TrialsAreLegalNewAndWithinTheBudget) {
  const sched::ConfigSpace space = triangle();
  for (SearchKind kind : kKinds)
    for (size_t trials : {size_t{0}, size_t{1}, size_t{7}, size_t{20}, size_t{100}}) {
      const SearchProblem problem = problem_of(space, trials, trials);
      const Sweep sweep = run(kind, problem, bowl);
      SCOPED_TRACE(std::string(name(kind)) + " with " + std::to_string(trials));
      EXPECT_LE(sweep.spent, static_cast<double>(trials));
      std::set<std::pair<sched::Config, Effort>> seen;
      for (const Trial& trial : sweep.trials) {
        EXPECT_EQ(space.violation(trial.config), "");
        EXPECT_NE(trial.config, problem.known.front().config) << "it was measured already";
        EXPECT_TRUE(seen.insert({trial.config, trial.effort}).second);
      }
      if (trials >= 100) { EXPECT_EQ(sweep.best, 1) << sweep.best_config.to_string(); }
    }
}

TEST(SearchTest, TheSameSeedGivesTheSameTrials) {
  const sched::ConfigSpace space = triangle();
  auto configs = [&](SearchKind kind, uint64_t seed) {
    std::vector<std::pair<sched::Config, Effort>> order;
    for (const Trial& trial : run(kind, problem_of(space, 9, seed), bowl).trials)
      order.emplace_back(trial.config, trial.effort);
    return order;
  };
  for (SearchKind kind : kKinds) EXPECT_EQ(configs(kind, 3), configs(kind, 3)) << name(kind);
  for (SearchKind kind : {SearchKind::random, SearchKind::staged, SearchKind::evolutionary})
    EXPECT_NE(configs(kind, 3), configs(kind, 4)) << name(kind);
}

TEST(SearchTest, TheBoundEndsIt) {
  const sched::ConfigSpace space = triangle();
  for (SearchKind kind : kKinds) {
    SearchProblem problem = problem_of(space, 30);
    problem.known.front().seconds = 1.015;
    problem.bound_seconds = 1;
    EXPECT_TRUE(run(kind, problem, bowl).trials.empty()) << name(kind);
    problem.known.front().seconds = 1.03;
    EXPECT_FALSE(run(kind, problem, bowl).trials.empty()) << name(kind);
  }
}

TEST(SearchTest, FailuresAreNotTriedAgainAndDoNotEndIt) {
  const sched::ConfigSpace space = triangle();
  auto half_fail = [](const sched::Config& c) {
    return (c["a"] + c["b"]) % 2 ? std::optional<double>() : bowl(c);
  };
  for (SearchKind kind : kKinds) {
    const Sweep sweep = run(kind, problem_of(space, 60), half_fail);
    EXPECT_EQ(sweep.best, 2) << name(kind) << ": " << sweep.best_config.to_string();
    std::set<sched::Config> failed;
    for (const Trial& trial : sweep.trials) {
      if (half_fail(trial.config)) continue;
      EXPECT_TRUE(failed.insert(trial.config).second) << name(kind);
    }
  }
  // Nothing works, not even the default.
  SearchProblem problem = problem_of(space, 60);
  problem.known.front().seconds = 0;
  for (SearchKind kind : kKinds)
    EXPECT_EQ(run(kind, problem, [](const auto&) { return std::nullopt; }).trials.size(), 35u)
        << name(kind);
}

TEST(SearchTest, EveryConfigIsAboutEquallyLikelyAtRandom) {
  const sched::ConfigSpace space = triangle();
  std::map<sched::Config, int> counts;
  constexpr int kRounds = 3500;
  for (int seed = 0; seed < kRounds; ++seed)
    for (const Trial& trial :
         run(SearchKind::random, problem_of(space, 7, static_cast<uint64_t>(seed)), bowl).trials)
      ++counts[trial.config];
  ASSERT_EQ(counts.size(), 35u);
  for (const auto& [config, count] : counts)
    EXPECT_NEAR(count, kRounds / 5, 6 * std::sqrt(kRounds * 0.2 * 0.8)) << config.to_string();
}

TEST(SearchTest, AutomaticIsExhaustiveWhereTheBudgetReaches) {
  const sched::ConfigSpace space = triangle();
  EXPECT_EQ(run(SearchKind::automatic, problem_of(space, 35), bowl).trials.size(), 35u);
  const Sweep sweep = run(SearchKind::automatic, problem_of(space, 34), bowl);
  EXPECT_TRUE(std::any_of(sweep.trials.begin(), sweep.trials.end(),
                          [](const Trial& t) { return t.effort == Effort::quick; }));
}

// ---- the default search

sched::ConfigSpace large_space(int parameters) {
  sched::ConfigSpace space;
  for (int p = 0; p < parameters; ++p)
    space.parameters.push_back(
        {std::string(1, static_cast<char>('a' + p)), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, ""});
  return space;
}

// A valley along a = b, its lowest point at (7, 7, 2).
double valley(const sched::Config& c) {
  const auto a = static_cast<double>(c["a"]), b = static_cast<double>(c["b"]),
             d = static_cast<double>(c["c"]);
  return 1 + 0.5 * std::abs(a - b) + 0.2 * std::abs(a + b - 14) + 0.3 * std::abs(d - 2);
}

KnownConfig known(const sched::Config& config, double (*seconds)(const sched::Config&)) {
  return {config, seconds(config)};
}

// The search goes on from what is in use, though the default is far away from it.
TEST(StagedSearchTest, WhatIsInUseIsABeginning) {
  const sched::ConfigSpace space = large_space(3);
  const sched::Config in_use = {{"a", 7}, {"b", 7}, {"c", 3}};
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SearchProblem problem = problem_of(space, 24, seed);
    problem.known = {known({{"a", 1}, {"b", 1}, {"c", 10}}, valley), known(in_use, valley)};
    const Sweep sweep = run(SearchKind::staged, problem, valley);
    for (const Trial& trial : sweep.trials) EXPECT_NE(trial.config, in_use);
    EXPECT_LE(sweep.best, valley(in_use)) << seed;
  }
}

TEST(StagedSearchTest, ATrueEstimateEndsItEarly) {
  const sched::ConfigSpace space = large_space(3);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SearchProblem problem = problem_of(space, 200, seed);
    problem.known = {known({{"a", 1}, {"b", 1}, {"c", 1}}, valley)};
    problem.estimate = [](const sched::Config& c) { return 3e-6 * valley(c); };
    const Sweep sweep = run(SearchKind::staged, problem, valley);
    EXPECT_EQ(sweep.best, 1) << sweep.best_config.to_string();
    EXPECT_LT(sweep.spent, 100);
  }
}

TEST(StagedSearchTest, AWrongEstimateNeitherEndsItNorHidesTheBest) {
  const sched::ConfigSpace space = large_space(3);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SearchProblem problem = problem_of(space, 100, seed);
    problem.known = {known({{"a", 1}, {"b", 1}, {"c", 1}}, valley)};
    problem.estimate = [](const sched::Config& c) { return 1 / valley(c); };
    const Sweep sweep = run(SearchKind::staged, problem, valley);
    EXPECT_EQ(sweep.best, 1) << sweep.best_config.to_string();
    EXPECT_GT(sweep.spent, 99);
  }
}

// One config is ten times faster than the estimate says: no statistic of the others may rule it out
// unless they were all close to theirs.
TEST(StagedSearchTest, AnEstimateThatIsOffByMuchDoesNotEndIt) {
  const sched::ConfigSpace space = large_space(3);
  SearchProblem problem = problem_of(space, 64);
  problem.known = {known({{"a", 1}, {"b", 1}, {"c", 1}}, valley)};
  problem.estimate = [](const sched::Config& c) { return c["c"] > 5 ? 9 * valley(c) : valley(c); };
  EXPECT_GT(run(SearchKind::staged, problem, valley).spent, 62);
}

TEST(StagedSearchTest, WithoutAnEstimateItLearns) {
  const sched::ConfigSpace space = large_space(3);
  double staged = 0, random = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SearchProblem problem = problem_of(space, 40, seed);
    problem.known = {known({{"a", 1}, {"b", 1}, {"c", 1}}, valley)};
    staged += std::log(run(SearchKind::staged, problem, valley).best) / 20;
    random += std::log(run(SearchKind::random, problem, valley).best) / 20;
  }
  EXPECT_LT(staged, 0.05);
  EXPECT_GT(random, 0.3);
}

TEST(StagedSearchTest, AMillionConfigs) {
  const sched::ConfigSpace space = large_space(6);
  SearchProblem problem = problem_of(space, 64);
  problem.known = {{{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}}, 100}};
  auto distance = [](const sched::Config& c) {
    double sum = 1;
    for (const auto& [key, value] : c.values()) sum += std::abs(static_cast<double>(value) - 4);
    return sum;
  };
  problem.estimate = [&](const sched::Config& c) { return distance(c) + (c["a"] == 4 ? 3 : 0); };
  const Sweep sweep = run(SearchKind::staged, problem, distance);
  EXPECT_EQ(sweep.best, 1) << sweep.best_config.to_string();
}

TEST(EvolutionarySearchTest, GenerationsImprove) {
  const sched::ConfigSpace space = large_space(3);
  double evolved = 0, random = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SearchProblem problem = problem_of(space, 64, seed);
    problem.known = {known({{"a", 1}, {"b", 1}, {"c", 1}}, valley)};
    evolved += std::log(run(SearchKind::evolutionary, problem, valley).best) / 20;
    random += std::log(run(SearchKind::random, problem, valley).best) / 20;
  }
  EXPECT_LT(evolved, 0.75 * random);
}

// ---- the model behind it

TEST(ResidualModelTest, PassesThroughItsSamplesAndKnowsWhatItDoesNotKnow) {
  std::vector<ResidualModel::Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back({{i, 7 - i}, 0.1 * i, 1e-3});
  const ResidualModel model(samples);
  for (const auto& sample : samples) EXPECT_NEAR(model.mean(sample.positions), sample.value, 0.01);
  EXPECT_LT(model.deviation({3, 4}), 0.05);
  EXPECT_GT(model.deviation({60, 60}), 3 * model.deviation({3, 4}));
  EXPECT_NEAR(model.mean({60, 60}), 0.35, 0.05);  // far away: the samples' level
}

TEST(ResidualModelTest, AParametersEffectCarriesOver) {
  // Value 0 of the second parameter costs 0.5, whatever the first is.
  std::vector<ResidualModel::Sample> samples;
  for (int i = 0; i < 12; ++i) samples.push_back({{i, 4 * (i % 2)}, i % 2 ? 0.0 : 0.5, 0.01});
  const ResidualModel model(samples);
  EXPECT_GT(model.mean({30, 0}), model.mean({30, 4}) + 0.15);
}

}  // namespace
}  // namespace tcc::autotune
