// Replayed searches: the bookkeeping on small logs, and the default search on landscapes that are
// as rough as real ones.
#include "autotune/replay.h"

#include <gtest/gtest.h>

#include <set>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/unit/search_fixture.h"

namespace tcc::autotune {
namespace {

RecordKey key(const std::string& region) { return {"pointwise", 1, region, "cuda:sm_90a"}; }

double slope(const sched::Config& c) {
  return 1e-6 * static_cast<double>(20 - c["a"] - c["b"]);  // (8, 8) is best
}

TaskHistory small_history() {
  const sched::ConfigSpace space = triangle();
  return Landscape(space, slope, {0, 0, 0, 0, 0.01}, 1).history({{"a", 1}, {"b", 1}}, 10);
}

TEST(ReplayTest, ExhaustiveFindsTheBestOfTheLog) {
  ReplayOptions options;
  options.least_trials = 36;
  const ReplayResult result =
      replay({{key("1"), small_history()}}, SearchKind::exhaustive, options);
  ASSERT_EQ(result.tasks.size(), 1u);
  const ReplayTask& task = result.tasks[0];
  EXPECT_EQ(task.space, 36u);
  EXPECT_EQ(task.trials, 36u);
  EXPECT_NEAR(task.best_seconds, 4e-6, 0.1e-6);
  EXPECT_NEAR(task.default_seconds, 18e-6, 0.5e-6);
  ASSERT_EQ(task.runs.size(), 20u);
  for (const ReplayRun& run : task.runs) {
    EXPECT_EQ(run.seconds, run.best_seconds);
    EXPECT_EQ(run.trials, 35);  // the default costs nothing
    EXPECT_EQ(run.configs, 35u);
  }
  std::set<double> medians;
  for (const ReplayRun& run : task.runs) medians.insert(run.seconds);
  EXPECT_GT(medians.size(), 2u) << "every seed holds out other samples";
  EXPECT_EQ(result.mean_ratio(), 1);
  EXPECT_EQ(result.worst_ratio(), 1);
}

TEST(ReplayTest, TrialsAreAShareOfTheSpace) {
  ReplayOptions options;
  options.least_trials = 2;
  options.share = 0.25;
  options.seeds = 3;
  const ReplayResult result = replay({{key("1"), small_history()}}, SearchKind::random, options);
  EXPECT_EQ(result.tasks[0].trials, 9u);
  for (const ReplayRun& run : result.tasks[0].runs) EXPECT_EQ(run.trials, 9);
  EXPECT_GT(result.worst_ratio(), 1);
}

// The lowest of a config's samples must not make it the winner: it is judged by others.
TEST(ReplayTest, TheWinnerIsJudgedByOtherSamples) {
  TaskHistory history = small_history();
  for (LoggedTrial& trial : history.trials) {
    const double seconds = 1e-5;
    trial.result.samples.assign(10, seconds);
    for (size_t i = 0; i < 10; ++i)
      trial.result.samples[i] *= 1 + 0.3 * RandomWords(trial.config.hash() + i).uniform(-1, 1);
  }
  ReplayOptions options;
  options.least_trials = 35;
  const ReplayResult result = replay({{key("1"), history}}, SearchKind::exhaustive, options);
  double seconds = 0;
  for (const ReplayRun& run : result.tasks[0].runs) seconds += run.seconds / 20;
  EXPECT_GT(seconds, 0.97e-5);  // no better than any other
}

TEST(ReplayTest, FailedSlowAndUntriedConfigs) {
  TaskHistory history = small_history();
  for (LoggedTrial& trial : history.trials) {
    if (trial.config["b"] == 8) {
      trial.result = Measurement();
      trial.result.status = Measurement::Status::wrong;
    }
    if (trial.config["b"] == 7) {
      trial.result.status = Measurement::Status::slow;
      trial.result.seconds = 1;
      trial.result.samples = {1};
    }
  }
  std::erase_if(history.trials, [](const LoggedTrial& t) { return t.config["b"] == 6; });
  ReplayOptions options;
  options.least_trials = 100;
  for (SearchKind kind : {SearchKind::exhaustive, SearchKind::staged, SearchKind::evolutionary}) {
    const ReplayResult result = replay({{key("1"), history}}, kind, options);
    EXPECT_EQ(result.tasks[0].space, 30u);
    EXPECT_NEAR(result.tasks[0].best_seconds, 10e-6, 0.2e-6);  // (5, 5)
    EXPECT_EQ(result.worst_ratio(), 1) << name(kind);
  }
}

TEST(ReplayTest, LogsThatCannotBeReplayed) {
  EXPECT_THROW(replay({}, SearchKind::random), Error);
  TaskHistory history = small_history();
  history.trials.erase(history.trials.begin());  // the default
  EXPECT_THROW(replay({{key("1"), history}}, SearchKind::random), Error);
  history = small_history();
  for (LoggedTrial& trial : history.trials) trial.result.samples.resize(3);
  EXPECT_THROW(replay({{key("1"), history}}, SearchKind::random), Error);
  history = small_history();
  for (LoggedTrial& trial : history.trials) trial.effort = Effort::quick;
  EXPECT_THROW(replay({{key("1"), history}}, SearchKind::random), Error);
}

struct Space {
  const char *name, *inputs, *node;
};
constexpr Space kSpaces[] = {
    {"linear", "x: {dtype: f32, shape: [32, 784]}, w: {dtype: f32, shape: [512, 784]}",
     "op: linear, in: [x, w]"},
    {"matmul", "x: {dtype: f32, shape: [4096, 4096]}, w: {dtype: f32, shape: [4096, 4096]}",
     "op: matmul, in: [x, w]"},
    {"conv2d", "x: {dtype: f32, shape: [1, 64, 56, 56]}, w: {dtype: f32, shape: [64, 64, 3, 3]}",
     "op: conv2d, in: [x, w], padding: 1"},
    {"softmax", "x: {dtype: f32, shape: [8192, 8192]}", "op: softmax, in: [x], dim: -1"},
    {"pointwise", "x: {dtype: f32, shape: [16777216]}", "op: gelu, in: [x]"},
};

// The search must come as close to the best as it must on real logs (within 3 %, 8 % in the worst
// space, better than random). The times are synthetic: their distance from the estimate has
// structure, edges and noise.
TEST(ReplayTest, TheDefaultSearchBeatsRandomOnRoughLandscapes) {
  std::vector<TemplateCase> cases;
  for (const Space& space : kSpaces) {
    TemplateCase& made = cases.emplace_back(space.inputs, space.node, "cuda:sm_90a");
    // Trials are a share of the space: ways to share k make 16 of each config, and minutes of this.
    for (sched::Parameter& parameter : made.space.parameters)
      if (parameter.name == "slices" || parameter.name == "cluster")
        parameter.values = {made.default_config[parameter.name]};
  }
  for (const Roughness& roughness : {Roughness{}, Roughness{0.3, 0.12, 0.05, 0.04, 0.01},
                                     Roughness{0.15, 0.08, 0.04, 0.02, 0.04}}) {
    TrialHistory history;
    for (size_t i = 0; i < cases.size(); ++i) {
      const TemplateCase& made = cases[i];
      TaskHistory& task = history[key(std::to_string(i))] =
          Landscape(made.space, made.model, roughness, i).history(made.default_config, 20);
      task.task.name = kSpaces[i].name;
    }
    const ReplayResult staged = replay(history, SearchKind::staged);
    const ReplayResult random = replay(history, SearchKind::random);
    const std::string table = replay_table(staged, random);
    EXPECT_LE(staged.mean_ratio(), 1.03) << table;
    EXPECT_LE(staged.worst_task_ratio(), 1.08) << table;
    EXPECT_GT(random.mean_ratio(), 1.08) << table;
    for (size_t i = 0; i < staged.tasks.size(); ++i) {
      EXPECT_LT(staged.tasks[i].mean_ratio(), random.tasks[i].mean_ratio()) << table;
      for (const ReplayRun& run : staged.tasks[i].runs)
        EXPECT_LE(run.trials, static_cast<double>(staged.tasks[i].trials));
    }
    EXPECT_NE(table.find("| conv2d"), std::string::npos);
  }
}

}  // namespace
}  // namespace tcc::autotune
