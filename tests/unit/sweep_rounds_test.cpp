// One kernel's sweep on a simulated device: what is in use today is beaten or stays, whatever cuts
// the search off and however noisy the machine is.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "autotune/sweep.h"
#include "autotune/sweep_record.h"
#include "frontend/graph_file.h"
#include "tests/unit/simulated_meter.h"

namespace tcc::autotune {
namespace {

using Clock = std::chrono::steady_clock;

class SweepTest : public testing::Test {
 protected:
  SweepTest() : device_(runtime::open_device("null")) {
    const ir::Graph graph = parse_yaml_graph(
        "tcc: 1\ninputs: {x: {dtype: f32, shape: [24, 40]}}\n"
        "nodes: [{out: y, op: softmax, in: [x], dim: -1}]\noutputs: [y]\n",
        "test.yaml", ".");
    graphs_.push_back(backends::schedule(graph, device_->target()));
    tunable_ = tunable_of(tuning_tasks(graphs_)[0], {});
    tunable_.bound_seconds = 0;
    tunable_.estimate = {};
    options_.trials = 12;
    options_.in_use = &in_use_;
    meter_.seconds = [this](const std::string& config) {
      const auto found = times_.find(config);
      return found == times_.end() ? others_ : found->second;
    };
    for_each_config([&](const sched::Config& config) {
      if (config != tunable_.default_config) configs_.push_back(config);
    });
    set(tunable_.default_config, 2e-3);
  }

  template <class Work>
  void for_each_config(const Work& work) {
    tunable_.space.enumerate([&](const sched::Config& config) {
      work(config);
      return true;
    });
  }
  void set(const sched::Config& config, double seconds) { times_[config.to_string()] = seconds; }
  double time_of(const sched::Config& config) const { return meter_.seconds(config.to_string()); }

  // A record of the kernel that programs use.
  void use(const sched::Config& config, double seconds) {
    Record record;
    record.key = tunable_.key;
    record.environment = tunable_.environment;
    record.tcc = tcc_version();
    record.best = config;
    record.seconds = seconds;
    in_use_ = RecordStore();
    in_use_.add(record);
  }

  SweepResources resources() {
    return {options_, true, arena_, compiling_, nullptr, log_mutex_, history_, events_mutex_};
  }
  SweepTurn turn(Clock::time_point deadline = Clock::time_point::max()) {
    return {device_mutex_, "null",
            [this](const BenchJob&) { return std::make_unique<SimulatedMeter>(meter_); }, deadline};
  }
  KernelResult run(Clock::time_point deadline = Clock::time_point::max()) {
    const auto sweep = make_sweep(tunable_, resources());
    sweep->run(turn(deadline));
    return sweep->result();
  }
  // Programs run this after the result was saved over what is in use.
  sched::Config after(const KernelResult& result) {
    RecordStore store = in_use_;
    const std::vector<const KernelResult*> results = {&result};
    store.update(records_of({&tunable_, 1}, results, &in_use_));
    return tunable_.choose(store).config;
  }

  SimulatedDevice meter_;
  std::map<std::string, double> times_;
  double others_ = 3e-3;  // of configs that have no time of their own
  std::shared_ptr<runtime::Device> device_;
  std::vector<backends::Scheduled> graphs_;
  Tunable tunable_;
  std::vector<sched::Config> configs_;  // without the default
  TuneOptions options_;
  RecordStore in_use_;
  TrialHistory history_;

 private:
  tbb::task_arena arena_{2};
  Meter compiling_;
  std::mutex log_mutex_, events_mutex_, device_mutex_;
};

TEST_F(SweepTest, WhatIsInUseIsMeasuredAndMustBeBeaten) {
  use(configs_[3], 1e-3);
  set(configs_[3], 1e-3);
  others_ = 1.5e-3;  // faster than the default, slower than what is in use
  const KernelResult result = run();
  EXPECT_EQ(result.today.tier, sched::Tier::exact);
  EXPECT_EQ(result.today.config, configs_[3]);
  ASSERT_GE(result.trials.size(), 3u);
  EXPECT_EQ(result.trials[0].config, tunable_.default_config);
  EXPECT_EQ(result.trials[1].config, configs_[3]);
  EXPECT_EQ(result.default_seconds, 2e-3);
  EXPECT_EQ(result.today_seconds, 1e-3);
  EXPECT_EQ(result.best_seconds, 1e-3);
  EXPECT_EQ(result.kept, "nothing is faster");
  EXPECT_EQ(after(result), configs_[3]);
}

TEST_F(SweepTest, AWinnerHasMetWhatIsInUseInADuel) {
  use(configs_[3], 1e-3);
  set(configs_[3], 1e-3);
  options_.search = SearchKind::exhaustive;
  set(configs_[5], 0.5e-3);
  const KernelResult result = run();
  EXPECT_EQ(result.kept, "");
  EXPECT_EQ(result.best_config, configs_[5]);
  EXPECT_EQ(result.today_seconds / result.best_seconds, 2);
  EXPECT_GE(meter_.dueled[configs_[3].to_string()], 2u);
  EXPECT_GE(meter_.dueled[configs_[5].to_string()], 2u);
  EXPECT_EQ(meter_.dueled[tunable_.default_config.to_string()], 1u) << "for its time alone";
  EXPECT_NEAR(result.default_seconds / result.best_seconds, 4, 1e-9);
  EXPECT_EQ(after(result), configs_[5]);
}

// The machine is slower in the finals than it was before: times of both would say that the default
// is faster than what beats it.
TEST_F(SweepTest, TheDefaultsTimeIsOfTheMinutesOfTheBests) {
  const auto gain_of = [](const KernelResult& result) {
    return result.record->default_seconds / result.record->seconds;
  };
  use(configs_[3], 1.6e-3);
  set(configs_[3], 1.6e-3);
  options_.search = SearchKind::exhaustive;
  options_.trials = configs_.size();
  for (const bool beaten : {false, true}) {
    set(configs_[5], beaten ? 1.4e-3 : 1.62e-3);
    meter_.taken = 0;
    meter_.load = [&](size_t n) { return n > configs_.size() ? 1.5 : 1; };
    const KernelResult result = run();
    ASSERT_TRUE(result.record) << beaten;
    EXPECT_EQ(result.record->best, configs_[beaten ? 5 : 3]);
    EXPECT_NEAR(result.record->seconds, 1.5 * (beaten ? 1.4e-3 : 1.6e-3), 1e-9);
    EXPECT_NEAR(gain_of(result), 2 / (beaten ? 1.4 : 1.6), 1e-9);
    EXPECT_NEAR(result.today_seconds, 1.5 * 1.6e-3, 1e-9);
  }
  // The machine was slow when the default was measured alone: nobody thought that it could win.
  set(configs_[5], 3e-3);
  set(configs_[7], 1.61e-3);
  set(tunable_.default_config, 1.2e-3);
  meter_.taken = 0;
  meter_.load = [&](size_t n) { return n == 0 ? 4 : 1; };
  const KernelResult result = run();
  ASSERT_TRUE(result.record);
  EXPECT_EQ(result.record->best, tunable_.default_config);
  EXPECT_EQ(gain_of(result), 1);
  EXPECT_EQ(result.kept, "");
}

// A time of other minutes is none.
TEST_F(SweepTest, AfterAnInterruptTheDefaultsIsUnknown) {
  use(configs_[3], 1.6e-3);
  set(configs_[3], 1.6e-3);
  set(configs_[5], 1e-3);
  options_.search = SearchKind::exhaustive;
  options_.trials = configs_.size();
  std::atomic<bool> interrupted = false;
  options_.interrupted = &interrupted;
  bool is_found = false;
  meter_.seconds = [&](const std::string& config) {
    is_found |= config == configs_[5].to_string();
    const auto found = times_.find(config);
    return found == times_.end() ? others_ : found->second;
  };
  meter_.measured = [&] { interrupted = is_found; };
  const KernelResult result = run();
  ASSERT_TRUE(result.record);
  EXPECT_EQ(result.record->best, configs_[5]);
  EXPECT_EQ(result.record->default_seconds, 0);
}

// The ratio of noisy runs' medians is another number than the median of their ratios.
TEST_F(SweepTest, TheGainIsTheDuels) {
  options_.search = SearchKind::exhaustive;
  options_.trials = configs_.size();
  set(configs_[5], 1e-3);
  meter_.noise = 0.5;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    meter_.random = RandomWords(seed);
    meter_.ratios.clear();
    const KernelResult result = run();
    ASSERT_TRUE(result.record);
    ASSERT_EQ(result.record->best, configs_[5]);
    const double ratio = median(meter_.ratios);
    EXPECT_NEAR(result.record->seconds / result.record->default_seconds, ratio, 1e-9);
    EXPECT_NEAR(result.best_seconds / result.today_seconds, ratio, 1e-9);
  }
}

// Its own record must be better than others' by a margin, or two sweeps would not agree.
TEST_F(SweepTest, LessThanAPercentIsNoGain) {
  options_.search = SearchKind::exhaustive;
  others_ = 1.985e-3;
  const KernelResult result = run();
  EXPECT_EQ(result.best_config, tunable_.default_config);
  EXPECT_EQ(result.kept, "nothing is faster");
}

TEST_F(SweepTest, ABudgetThatLeavesNoTimeKeepsWhatWasInUse) {
  use(configs_[3], 1e-3);
  set(configs_[3], 1e-3);
  others_ = 0.5e-3;
  const KernelResult result = run(Clock::now());
  EXPECT_EQ(result.ended, "budget");
  EXPECT_EQ(result.kept, "no finals");
  EXPECT_FALSE(result.record) << "above all none of the default";
  EXPECT_EQ(result.best_config, configs_[3]);
  EXPECT_EQ(result.today_seconds, 1e-3);
  EXPECT_EQ(after(result), configs_[3]);
}

// However early the search is cut off: what is used afterwards is not slower.
TEST_F(SweepTest, NoCutMakesItSlower) {
  use(configs_[3], 1e-3);
  set(configs_[3], 1e-3);
  RandomWords random(1);
  for (size_t i = 0; i < configs_.size(); ++i)
    if (i != 3) set(configs_[i], random.uniform(0.4e-3, 3e-3));
  int gains = 0;
  for (size_t trials = 0; trials < 14; ++trials) {
    std::atomic<bool> interrupted = false;
    size_t left = trials;
    meter_.measured = [&] {
      if (left-- == 0) interrupted = true;
    };
    options_.interrupted = &interrupted;
    const KernelResult result = run();
    EXPECT_LE(time_of(after(result)), 1e-3) << trials;
    EXPECT_EQ(after(result), result.best_config);
    gains += time_of(after(result)) < 1e-3;
    EXPECT_EQ(result.kept.empty(), time_of(after(result)) < 1e-3) << trials << result.kept;
  }
  EXPECT_GT(gains, 0) << "an interrupt saves what is known";
}

TEST_F(SweepTest, AnInterruptPlaysShortFinals) {
  options_.search = SearchKind::exhaustive;
  others_ = 1e-3;
  std::atomic<bool> interrupted = false;
  size_t left = 5;
  meter_.measured = [&] {
    if (--left == 0) interrupted = true;
  };
  options_.interrupted = &interrupted;
  const KernelResult result = run();
  EXPECT_EQ(result.ended, "interrupted");
  EXPECT_EQ(result.trials.size(), 6u);
  EXPECT_EQ(meter_.duels, 1u) << "with what is in use, and no others";
  ASSERT_TRUE(result.record);
  EXPECT_EQ(result.kept, "");
  EXPECT_EQ(time_of(result.record->best), 1e-3);
  EXPECT_EQ(result.record->default_seconds, 2e-3);
}

TEST_F(SweepTest, AnInterruptBeforeAnyCandidateKeepsWhatWasInUse) {
  std::atomic<bool> interrupted = true;
  options_.interrupted = &interrupted;
  const KernelResult result = run();
  EXPECT_EQ(result.kept, "no finals");
  EXPECT_FALSE(result.record);
}

// Measurements of one config differ by a factor of three, and a load comes and goes: candidates
// look fast because they were measured while the machine was quiet.
TEST_F(SweepTest, ANoisyMachineMakesNothingSlower) {
  use(configs_[3], 1e-3);
  set(configs_[3], 1e-3);
  meter_.noise = 0.8;
  meter_.load = [](size_t n) { return n % 7 < 3 ? 2.5 : 1.0; };
  int slower = 0, faster = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    options_.seed = seed;
    meter_.random = RandomWords(seed);
    meter_.taken = seed;
    RandomWords random(seed);
    for (size_t i = 0; i < configs_.size(); ++i)
      if (i != 3) set(configs_[i], random.uniform(0.99e-3, 1.6e-3));
    slower += time_of(after(run())) > 1.02e-3;
  }
  EXPECT_EQ(slower, 0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    options_.seed = seed;
    meter_.random = RandomWords(seed);
    meter_.taken = seed;
    RandomWords random(seed);
    for (size_t i = 0; i < configs_.size(); ++i)
      if (i != 3) set(configs_[i], random.uniform(0.5e-3, 1.6e-3));
    faster += time_of(after(run())) < 0.9e-3;
  }
  EXPECT_GE(faster, 16) << "and yet it finds what there is";
}

// A kernel without finals would look up what another kernel's record says from now on.
TEST_F(SweepTest, AnotherKernelsRecordDoesNotTakeThePlaceOfWhatWasInUse) {
  use(configs_[3], 1e-3);
  Tunable found = tunable_, cut = tunable_;
  found.key.region[0] = found.key.region[0] == 'a' ? 'b' : 'a';
  cut.choose = [&](const RecordStore& store) -> sched::ConfigChoice {
    if (store.records().count(cut.key))
      return {store.records().at(cut.key).best, sched::Tier::exact};
    if (store.records().count(found.key)) return {configs_[9], sched::Tier::nearest};
    return {tunable_.default_config, sched::Tier::analytic};
  };
  in_use_ = RecordStore();
  set(configs_[1], 1e-3);
  KernelResult winner, kept;
  {
    tunable_ = found;
    options_.search = SearchKind::exhaustive;
    winner = run();
    ASSERT_EQ(winner.best_config, configs_[1]);
    tunable_ = cut;
    kept = run(Clock::now());
    ASSERT_EQ(kept.kept, "no finals");
    ASSERT_EQ(kept.today.config, tunable_.default_config);
  }
  const Tunable both[] = {found, cut};
  const RecordStore records = records_of(both, {&winner, &kept}, &in_use_);
  ASSERT_TRUE(records.records().count(cut.key));
  EXPECT_EQ(records.records().at(cut.key).best, tunable_.default_config);
  EXPECT_EQ(cut.choose(records).config, tunable_.default_config);
  // If the lookup gives the same config, nothing is written for it.
  const Tunable alone[] = {cut};
  EXPECT_TRUE(records_of(alone, {&kept}, &in_use_).records().empty());
}

TEST_F(SweepTest, WhatDoesNotWorkTodayIsReplaced) {
  use(configs_[3], 1e-3);
  set(configs_[3], 0);  // it gives wrong results
  KernelResult result = run(Clock::now());
  EXPECT_EQ(result.today_seconds, 0);
  EXPECT_EQ(result.kept, "");
  EXPECT_EQ(after(result), tunable_.default_config);
  others_ = 1e-3;
  result = run();
  EXPECT_EQ(time_of(after(result)), 1e-3);
}

// ---- turns

TEST_F(SweepTest, AWinnerStandsWhereNoTimeIsLeft) {
  set(configs_[0], 1e-3);
  options_.search = SearchKind::exhaustive;
  options_.trials = configs_.size();
  const auto sweep = make_sweep(tunable_, resources());
  sweep->prepare(turn());
  EXPECT_TRUE(sweep->is_prepared());
  EXPECT_EQ(sweep->result().trials.size(), 1u);
  EXPECT_GE(sweep->least_seconds(), 0);
  // The first turn ends amid a batch, with the fastest already found.
  meter_.measured = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  sweep->run(turn(Clock::now() + std::chrono::milliseconds(200)));
  ASSERT_FALSE(sweep->is_over());
  EXPECT_EQ(sweep->result().ended, "budget");
  ASSERT_TRUE(sweep->result().record);
  EXPECT_EQ(sweep->result().record->best, configs_[0]);
  const size_t trials = sweep->result().trials.size();
  ASSERT_LT(trials, configs_.size());
  sweep->run(turn(Clock::now()));
  EXPECT_EQ(sweep->result().trials.size(), trials);
  ASSERT_TRUE(sweep->result().record);
  EXPECT_EQ(sweep->result().record->best, configs_[0]);
  EXPECT_EQ(sweep->result().default_seconds / sweep->result().best_seconds, 2);
  // It goes on where it was: each config is measured once.
  sweep->close();
  meter_.measured = {};
  sweep->run(turn());
  EXPECT_TRUE(sweep->is_over());
  EXPECT_EQ(sweep->result().ended, "space exhausted");
  EXPECT_EQ(sweep->result().trials.size(), configs_.size() + 1);
  EXPECT_EQ(sweep->result().record->best, configs_[0]);
}

TEST_F(SweepTest, WhatNeverHadATurnSaysSo) {
  const auto sweep = make_sweep(tunable_, resources());
  sweep->prepare(turn());
  int finished = 0;
  options_.events.finished = [&](const KernelResult&) { ++finished; };
  sweep->leave();
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(sweep->result().ended, "budget");
  EXPECT_EQ(sweep->result().kept, "no finals");
  EXPECT_FALSE(sweep->result().record);
  EXPECT_EQ(sweep->result().best_seconds, 2e-3);
}

// Numbers of a log were measured on another day: what they find has finals, too.
TEST_F(SweepTest, TrialsOfALogGetTheirFinals) {
  set(configs_[0], 1e-3);
  options_.search = SearchKind::exhaustive;
  const KernelResult first = run();
  ASSERT_EQ(first.best_config, configs_[0]);
  for (const bool quick : {false, true}) {
    std::vector<LoggedTrial> trials = first.trials;
    for (LoggedTrial& trial : trials)
      if (trial.config == configs_[0] && quick) trial.effort = Effort::quick;
    history_[tunable_.key] = {first.task, trials};
    const size_t opened = meter_.opened, duels = meter_.duels;
    const KernelResult resumed = run(Clock::now());
    ASSERT_TRUE(resumed.record);
    EXPECT_EQ(resumed.record->best, configs_[0]);
    EXPECT_EQ(resumed.resumed, first.trials.size());
    EXPECT_EQ(meter_.opened, opened + 1);
    EXPECT_GT(meter_.duels, duels);
  }
}

}  // namespace
}  // namespace tcc::autotune
