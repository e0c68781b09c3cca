// A sweep that a budget cuts off, and what goes on from it.
#include <gtest/gtest.h>

#include "autotune/sweep.h"
#include "frontend/graph_file.h"

namespace tcc::autotune {
namespace {

// Every config but the default's takes half of its time.
class HalfTime : public Bench {
 public:
  explicit HalfTime(std::string default_config) : default_config_(std::move(default_config)) {}
  Measurement baseline(const sched::KernelBinary& kernel) override { return timed(kernel); }
  Measurement measure(const sched::KernelBinary& kernel, Effort, double) override {
    return timed(kernel);
  }
  std::pair<Measurement, Measurement> duel(const sched::KernelBinary& incumbent,
                                           const sched::KernelBinary& challenger) override {
    return {timed(incumbent), timed(challenger)};
  }

 private:
  Measurement timed(const sched::KernelBinary& kernel) const {
    const double seconds = kernel.config == default_config_ ? 2e-3 : 1e-3;
    Measurement m;
    m.status = Measurement::Status::measured;
    m.seconds = m.low = m.high = seconds;
    m.samples = {seconds};
    return m;
  }
  std::string default_config_;
};

class SweepRounds : public testing::Test {
 protected:
  SweepRounds() : device_(runtime::open_device("null")) {
    const ir::Graph graph = parse_yaml_graph(
        "tcc: 1\ninputs: {x: {dtype: f32, shape: [24, 40]}}\n"
        "nodes: [{out: y, op: softmax, in: [x], dim: -1}]\noutputs: [y]\n",
        "test.yaml", ".");
    graphs_.push_back(backends::schedule(graph, device_->target()));
    tunable_ = tunable_of(tuning_tasks(graphs_, device_->target())[0], device_->target(), {});
    tunable_.bound_seconds = 0;
    options_.workers = false;
    options_.trials = 12;
  }

  KernelResult run(const KernelResult* before, bool time_is_up) {
    TrialHistory history;
    if (before) history[tunable_.key] = {before->task, before->trials};
    return sweep(tunable_, context(history, before, time_is_up));
  }
  // What `earlier` left in a log.
  KernelResult resume(const KernelResult& earlier, bool time_is_up) {
    TrialHistory history;
    history[tunable_.key] = {earlier.task, earlier.trials};
    return sweep(tunable_, context(history, nullptr, time_is_up));
  }

  size_t opened_ = 0;
  std::shared_ptr<runtime::Device> device_;
  std::vector<backends::Scheduled> graphs_;
  Tunable tunable_;
  TuneOptions options_;

 private:
  SweepContext context(const TrialHistory& history, const KernelResult* before, bool time_is_up) {
    return {.options = options_,
            .device_is_cpu = true,
            .compile_arena = arena_,
            .compiling = compiling_,
            .log_mutex = log_mutex_,
            .history = history,
            .events_mutex = events_mutex_,
            .device_mutex = device_mutex_,
            .device = "null",
            .open_bench =
                [&](const BenchJob&) {
                  ++opened_;
                  return std::make_unique<HalfTime>(tunable_.default_config.to_string());
                },
            .deadline = time_is_up ? std::chrono::steady_clock::now()
                                   : std::chrono::steady_clock::time_point::max(),
            .before = before};
  }

  tbb::task_arena arena_{2};
  Meter compiling_;
  std::mutex log_mutex_, events_mutex_, device_mutex_;
};

TEST_F(SweepRounds, AWinnerStandsWhereNoTimeIsLeft) {
  const KernelResult first = run(nullptr, false);
  ASSERT_TRUE(first.record);
  ASSERT_NE(first.record->best, tunable_.default_config);
  EXPECT_EQ(first.resumed, 0u);
  const size_t opened = opened_;
  const KernelResult second = run(&first, true);
  ASSERT_TRUE(second.record);
  EXPECT_EQ(second.record->best, first.record->best);
  EXPECT_EQ(second.best_config, first.best_config);
  EXPECT_EQ(second.default_seconds / second.best_seconds, 2);
  EXPECT_EQ(second.trials.size(), first.trials.size());
  EXPECT_EQ(second.resumed, 0u) << "all trials are of this run";
  EXPECT_EQ(opened_, opened) << "nothing new was to be measured";
}

TEST_F(SweepRounds, QuickTrialsOfALogGetTheirFinals) {
  KernelResult first = run(nullptr, false);
  std::erase_if(first.trials, [&](const LoggedTrial& trial) {
    return trial.effort == Effort::full && trial.config != tunable_.default_config;
  });
  if (first.trials.size() < 2) {  // a search of full trials alone
    LoggedTrial quick = first.trials.front();
    quick.config = first.best_config;
    quick.effort = Effort::quick;
    quick.result.seconds /= 2;
    first.trials.push_back(quick);
  }
  const KernelResult resumed = resume(first, true);
  ASSERT_TRUE(resumed.record);
  EXPECT_NE(resumed.record->best, tunable_.default_config);
  EXPECT_EQ(resumed.resumed, first.trials.size());
}

// Nobody knows whether what was looked at briefly is faster.
TEST_F(SweepRounds, AnInterruptionBeforeTheFinalsRecordsNoDefault) {
  std::atomic<bool> interrupted = false;
  options_.interrupted = &interrupted;
  options_.events.trial = [&](const KernelResult& kernel) {
    if (kernel.trials.size() == 4) interrupted = true;
  };
  const KernelResult cut = run(nullptr, false);
  EXPECT_EQ(cut.ended, "interrupted");
  ASSERT_EQ(cut.trials.size(), 4u);
  const bool full = std::any_of(cut.trials.begin() + 1, cut.trials.end(),
                                [](const auto& trial) { return trial.effort == Effort::full; });
  if (full)
    EXPECT_NE(cut.record->best, tunable_.default_config);
  else
    EXPECT_FALSE(cut.record);
}

}  // namespace
}  // namespace tcc::autotune
