#include "autotune/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "autotune/random_words.h"
#include "autotune/statistics.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kLeastSamples = 4;  // two that the search sees, two that judge
constexpr size_t kQuickSamples = 3;
constexpr double kUnusable = 0;  // seconds of a config that gives nothing

// The log says this of one config.
struct Logged {
  std::vector<double> samples;  // none: it failed; one: it is far slower than the best
  double estimate = 0;
};
using LoggedConfigs = std::map<sched::Config, Logged>;

LoggedConfigs logged_configs(const TaskHistory& history) {
  LoggedConfigs configs;
  for (const LoggedTrial& trial : history.trials) {
    if (trial.effort != Effort::full) continue;
    Logged& logged = configs[trial.config];
    logged = {{}, trial.estimate};
    const Measurement& result = trial.result;
    if (result.status == Measurement::Status::slow && result.seconds > 0)
      logged.samples = {result.seconds};
    if (result.status == Measurement::Status::measured && result.samples.size() >= kLeastSamples)
      logged.samples = result.samples;
  }
  return configs;
}

// A config's medians under one split of its samples.
struct Split {
  double quick = kUnusable, full = kUnusable, held_out = kUnusable;
};

Split split_samples(const std::vector<double>& samples, uint64_t seed) {
  if (samples.empty()) return {};
  if (samples.size() == 1) return {samples[0], samples[0], samples[0]};
  std::vector<double> order = samples;
  RandomWords random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const auto half = order.begin() + static_cast<long>(order.size() / 2);
  const auto few = order.begin() + static_cast<long>(std::min(kQuickSamples, order.size() / 2));
  return {median({order.begin(), few}), median({order.begin(), half}), median({half, order.end()})};
}

class TaskReplay {
 public:
  TaskReplay(const TaskHistory& history, const ReplayOptions& options)
      : options_(options), default_config_(history.task.default_config) {
    bound_seconds_ = history.task.bound_seconds;
    logged_ = logged_configs(history);
    space_.parameters = history.task.space.parameters;
    // The constraints were a function: what is left of them is which configs were tried.
    space_.constraints = {
        {"in the log", [this](const sched::Config& c) { return logged_.count(c) != 0; }}};
    std::pair<double, uint64_t> best = {std::numeric_limits<double>::infinity(), 0};
    for (const auto& [config, logged] : logged_) {
      if (logged.samples.size() < kLeastSamples) continue;
      const std::pair<double, uint64_t> time = {median(logged.samples), config.hash()};
      if (best <= time) continue;
      best = time;
      best_ = config;
    }
  }
  TaskReplay(const TaskReplay&) = delete;

  bool possible() const {
    const auto known = logged_.find(default_config_);
    return known != logged_.end() && known->second.samples.size() >= kLeastSamples;
  }
  size_t size() const { return logged_.size(); }
  size_t trials() const {
    const double share = options_.share * static_cast<double>(logged_.size());
    return std::max(options_.least_trials, static_cast<size_t>(share));
  }

  // The samples' split depends on the seed alone, so that every kind of search sees the same.
  void split(uint64_t seed) {
    splits_.clear();
    for (const auto& [config, logged] : logged_)
      splits_[config] = split_samples(logged.samples, seed ^ config.hash());
  }
  double held_out(const sched::Config& config) const { return splits_.at(config).held_out; }
  const sched::Config& default_config() const { return default_config_; }
  // Median of all samples.
  double seconds(const sched::Config& config) const { return median(logged_.at(config).samples); }
  const sched::Config& best() const { return best_; }

  ReplayRun run(SearchKind kind, uint64_t seed) const {
    SearchProblem problem;
    problem.space = &space_;
    problem.known = {{default_config_, splits_.at(default_config_).full}};
    problem.trials = trials();
    problem.quick_cost = options_.quick_cost;
    problem.seed = seed;
    problem.bound_seconds = bound_seconds_;
    const bool estimated = std::any_of(logged_.begin(), logged_.end(),
                                       [](const auto& l) { return l.second.estimate > 0; });
    if (estimated)
      problem.estimate = [this](const sched::Config& c) { return logged_.at(c).estimate; };

    ReplayRun run;
    std::set<sched::Config> seen;
    std::pair<double, uint64_t> best = {problem.known.front().seconds, default_config_.hash()};
    run.seconds = held_out(default_config_);
    run.best_seconds = held_out(best_);
    auto searcher = make_searcher(kind, problem);
    for (auto batch = searcher->next_batch(); !batch.empty(); batch = searcher->next_batch())
      for (const Trial& trial : batch) {
        run.trials += trial.effort == Effort::full ? 1 : options_.quick_cost;
        seen.insert(trial.config);
        const Split& split = splits_.at(trial.config);
        const double seconds = trial.effort == Effort::full ? split.full : split.quick;
        if (seconds == kUnusable) {
          searcher->report(trial, std::nullopt);
          continue;
        }
        searcher->report(trial, seconds);
        if (trial.effort == Effort::full && std::pair(seconds, trial.config.hash()) < best) {
          best = {seconds, trial.config.hash()};
          run.seconds = split.held_out;
        }
      }
    run.configs = seen.size();
    return run;
  }

 private:
  ReplayOptions options_;
  sched::Config default_config_, best_;
  double bound_seconds_ = 0;
  LoggedConfigs logged_;
  sched::ConfigSpace space_;
  std::map<sched::Config, Split> splits_;
};

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "+%.1f %%", (ratio - 1) * 100);
  return text;
}

std::string cells(const std::vector<std::string>& values) {
  std::string line = "|";
  for (const std::string& value : values) line += " " + value + " |";
  return line + "\n";
}

}  // namespace

double ReplayTask::mean_ratio() const {
  std::vector<double> ratios;
  for (const ReplayRun& run : runs) ratios.push_back(run.ratio());
  return geometric_mean(ratios);
}

double ReplayTask::worst_ratio() const {
  double worst = 0;
  for (const ReplayRun& run : runs) worst = std::max(worst, run.ratio());
  return worst;
}

double ReplayResult::mean_default_ratio() const {
  std::vector<double> ratios;
  for (const ReplayTask& task : tasks) ratios.push_back(task.default_seconds / task.best_seconds);
  return geometric_mean(ratios);
}

double ReplayResult::mean_ratio() const {
  std::vector<double> ratios;
  for (const ReplayTask& task : tasks) ratios.push_back(task.mean_ratio());
  return geometric_mean(ratios);
}

double ReplayResult::worst_task_ratio() const {
  double worst = 0;
  for (const ReplayTask& task : tasks) worst = std::max(worst, task.mean_ratio());
  return worst;
}

double ReplayResult::worst_ratio() const {
  double worst = 0;
  for (const ReplayTask& task : tasks) worst = std::max(worst, task.worst_ratio());
  return worst;
}

ReplayResult replay(const TrialHistory& history, SearchKind kind, const ReplayOptions& options) {
  ReplayResult result;
  result.kind = kind;
  for (const auto& [key, task_history] : history) {
    TaskReplay task(task_history, options);
    if (!task.possible()) continue;
    ReplayTask& replayed = result.tasks.emplace_back();
    replayed.name = task_history.task.name;
    replayed.operands = task_history.task.operands;
    replayed.kernel_template = key.kernel_template;
    replayed.device = key.device;
    replayed.space = task.size();
    replayed.trials = task.trials();
    replayed.default_seconds = task.seconds(task.default_config());
    replayed.best_seconds = task.seconds(task.best());
    for (int seed = 0; seed < options.seeds; ++seed) {
      task.split(static_cast<uint64_t>(seed));
      replayed.runs.push_back(task.run(kind, static_cast<uint64_t>(seed)));
    }
  }
  if (result.tasks.empty())
    fail_input("the trial log has no kernel whose default config was measured with ", kLeastSamples,
               " samples or more: nothing can be replayed");
  return result;
}

std::string replay_table(const ReplayResult& result, const ReplayResult& random) {
  TCC_CHECK(result.tasks.size() == random.tasks.size(), "tables of two different logs");
  const std::string kind(name(result.kind)), other(name(random.kind));
  std::string text = cells({"kernel", "template", "space", "trials", "configs tried", "default",
                            kind, "worst seed", other, "worst seed"});
  text += "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (size_t i = 0; i < result.tasks.size(); ++i) {
    const ReplayTask &task = result.tasks[i], &rival = random.tasks[i];
    size_t configs = 0;
    for (const ReplayRun& run : task.runs) configs = std::max(configs, run.configs);
    text += cells({task.name + " " + task.operands, task.kernel_template,
                   std::to_string(task.space), std::to_string(task.trials), std::to_string(configs),
                   percent(task.default_seconds / task.best_seconds), percent(task.mean_ratio()),
                   percent(task.worst_ratio()), percent(rival.mean_ratio()),
                   percent(rival.worst_ratio())});
  }
  text += cells({"geometric mean, worst", "", "", "", "", percent(result.mean_default_ratio()),
                 percent(result.mean_ratio()), percent(result.worst_ratio()),
                 percent(random.mean_ratio()), percent(random.worst_ratio())});
  text += "\nSlower than the exhaustive best, on samples that the search did not see; " +
          std::to_string(result.tasks[0].runs.size()) +
          " seeds. Worst space: " + percent(result.worst_task_ratio()) + " (" + other + " " +
          percent(random.worst_task_ratio()) + ").\n";
  return text;
}

}  // namespace tcc::autotune
