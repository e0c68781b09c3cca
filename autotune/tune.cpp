#include "autotune/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "autotune/sweep.h"
#include "autotune/sweep_record.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/parallel.h"

namespace tcc::autotune {

using Clock = std::chrono::steady_clock;

namespace {

// Kernels under way on one GPU: one is measured while the next ones compile.
constexpr size_t kSweepsPerGpu = 3;
// Kernels that keep their buffers on a device until their next turn.
constexpr int kMostOpen = 8;
// Parts of a budget: one for measuring what is in use, one that all kernels share equally.
constexpr double kPreparing = 0.3, kShared = 0.15;
constexpr double kLuck = 0.1;  // of it: less is not worth a turn that may be too short

// A device, and what measures on it.
struct Station {
  std::string name;
  std::mutex mutex;  // one measurement at a time
  std::unique_ptr<WorkerPool> workers;

  std::unique_ptr<Bench> open(BenchJob job, const TuneOptions& options) {
    if (options.open_bench) return options.open_bench(name, std::move(job));
    if (!options.workers) return local_bench(runtime::open_device(name), std::move(job));
    if (!workers) workers = make_worker_pool(name, options.worker);
    return workers->bench(std::move(job));
  }
};

class Tuning {
 public:
  Tuning(std::span<const Tunable> tunables, bool is_cpu, std::span<const std::string> devices,
         const TuneOptions& options)
      : tunables_(tunables),
        is_cpu_(is_cpu),
        options_(options),
        arena_(options.jobs > 0 ? std::min(options.jobs, parallelism()) : parallelism()) {
    if (devices.empty()) fail_input("no device to tune on");
    for (const std::string& device : devices) {
      stations_.push_back(std::make_unique<Station>());
      stations_.back()->name = device;
    }
    if (!options.log.empty()) {
      if (options.resume)
        history_ = read_trial_log(
            options.log, options.warn ? options.warn : [](const auto&) {});
      log_ = open_trial_log(options.log);
    }
    const SweepResources resources{options_,   is_cpu_,    arena_,   compiling_,
                                   log_.get(), log_mutex_, history_, events_mutex_};
    for (const Tunable& tunable : tunables_) sweeps_.push_back(make_sweep(tunable, resources));
  }

  TuneResult run() {
    std::vector<size_t> all(tunables_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (options_.budget_seconds > 0)
      share_budget(all);
    else
      for_each(all, [&](size_t kernel, Station& station) {
        take_turn(kernel, station, Clock::time_point::max());
      });
    if (failure_) std::rethrow_exception(failure_);
    return collect();
  }

 private:
  // Every device takes the next kernel when it is free.
  template <class Work>
  void for_each(const std::vector<size_t>& kernels, const Work& work) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (const auto& station : stations_)
      for (size_t i = 0; i < sweeps_per_device(); ++i)
        threads.emplace_back([&, &at = *station] {
          try {
            for (size_t k = next++; k < kernels.size() && !stopped(); k = next++)
              work(kernels[k], at);
          } catch (...) {
            std::lock_guard lock(events_mutex_);
            if (!failure_) failure_ = std::current_exception();
          }
        });
    for (std::thread& thread : threads) thread.join();
  }

  SweepTurn turn(Station& station, Clock::time_point deadline) {
    return {station.mutex, station.name,
            [this, &station](BenchJob job) { return station.open(std::move(job), options_); },
            deadline};
  }

  void take_turn(size_t kernel, Station& station, Clock::time_point deadline) {
    sweeps_[kernel]->run(turn(station, deadline));
    settle(kernel);
  }

  // Few kernels stay open between their turns.
  void settle(size_t kernel) {
    std::lock_guard lock(open_mutex_);
    open_.erase(kernel);
    if (sweeps_[kernel]->is_over() || open_.size() >= kMostOpen)
      sweeps_[kernel]->close();
    else
      open_.insert(kernel);
  }

  // ---- budgets

  // The configs in use are measured first, so that it is known where a run of all spends its time;
  // then the kernels have shares of the rest, those that take the least first: what they leave is
  // for the others.
  void share_budget(std::vector<size_t> kernels) {
    survey();
    sort_by_weight(kernels);
    std::atomic<bool> any = false;  // whatever the budget, one kernel is begun
    for_each({kernels.rbegin(), kernels.rend()}, [&](size_t kernel, Station& station) {
      if (any.exchange(true) && seconds_left() < (1 - kPreparing) * options_.budget_seconds) return;
      sweeps_[kernel]->prepare(turn(station, Clock::time_point::max()));
      settle(kernel);
    });
    for (bool first = true;; first = false) {
      std::erase_if(kernels, [&](size_t kernel) { return sweeps_[kernel]->is_over(); });
      survey();
      sort_by_weight(kernels);
      // The time left after the first round goes to those that take most of a run.
      if (!first) std::reverse(kernels.begin(), kernels.end());
      if (kernels.empty() || stopped() || !play_round(kernels, first)) break;
    }
    for (const auto& sweep : sweeps_)
      if (sweep->is_prepared()) sweep->leave();
  }

  // Returns whether any kernel had a turn.
  bool play_round(const std::vector<size_t>& kernels, bool shared) {
    std::atomic<size_t> turns = 0;
    for_each(kernels, [&](size_t kernel, Station& station) {
      const auto at = static_cast<size_t>(std::ranges::find(kernels, kernel) - kernels.begin());
      const double left = seconds_left(), least = least_.at(kernel);
      double seconds = left * std::min(1.0, at_once() * share(kernels, at));
      if (!shared) seconds = std::max(seconds, least);
      // When the rest of the budget is too short for anything else, the kernel with the most time
      // is tuned with it all the same.
      const bool is_last_chance = !shared && turns == 0 && left >= kLuck * options_.budget_seconds;
      if (is_last_chance) seconds = std::min(seconds, left);
      if (seconds < (is_last_chance ? 0 : least) || seconds > left || left <= 0) return;
      ++turns;
      take_turn(kernel, station, deadline_after(seconds));
    });
    return turns > 0;
  }

  // Gives the share of what is left for kernels[at] and those behind it.
  double share(const std::vector<size_t>& kernels, size_t at) const {
    double sum = 0;
    for (size_t i = at; i < kernels.size(); ++i) sum += weights_.at(kernels[i]);
    const double equal = 1 / static_cast<double>(kernels.size() - at);
    return sum > 0 ? kShared * equal + (1 - kShared) * weights_.at(kernels[at]) / sum : equal;
  }

  // Between rounds: the seconds of a run of all that are each kernel's, measured, else by the
  // model, which is as far off as it was for those that were measured; and what each needs.
  void survey() {
    double sum = 0, estimates = 0, most = 0;
    for (size_t i = 0; i < sweeps_.size(); ++i) {
      if (!sweeps_[i]->is_prepared()) continue;
      most = std::max(most, sweeps_[i]->least_seconds());
      if (sweeps_[i]->result().today_seconds <= 0) continue;
      sum += sweeps_[i]->result().today_seconds;
      estimates += estimate(i);
    }
    const double off = estimates > 0 ? sum / estimates : 1;
    weights_.assign(sweeps_.size(), 0);
    least_.assign(sweeps_.size(), most);  // of what was not measured, in ignorance
    for (size_t i = 0; i < sweeps_.size(); ++i) {
      const double measured = sweeps_[i]->result().today_seconds;
      weights_[i] = tunables_[i].launches * (measured > 0 ? measured : off * estimate(i));
      if (sweeps_[i]->is_prepared()) least_[i] = sweeps_[i]->least_seconds();
    }
  }

  double estimate(size_t kernel) const {
    const Tunable& tunable = tunables_[kernel];
    const double seconds = tunable.estimate ? tunable.estimate(tunable.default_config) : 0;
    return std::isfinite(seconds) && seconds > 0 ? seconds : tunable.bound_seconds;
  }

  void sort_by_weight(std::vector<size_t>& kernels) const {
    std::stable_sort(kernels.begin(), kernels.end(),
                     [&](size_t a, size_t b) { return weights_.at(a) < weights_.at(b); });
  }

  bool stopped() {
    if (options_.interrupted && *options_.interrupted) return true;
    std::lock_guard lock(events_mutex_);
    return failure_ != nullptr;
  }

  size_t sweeps_per_device() const { return is_cpu_ ? 1 : kSweepsPerGpu; }
  double at_once() const { return static_cast<double>(stations_.size() * sweeps_per_device()); }

  double seconds_left() const {
    return options_.budget_seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }

  TuneResult collect() {
    TuneResult result;
    std::vector<const KernelResult*> results;
    for (const auto& sweep : sweeps_) {
      sweep->close();
      const KernelResult& kernel = sweep->result();
      const bool is_begun = !kernel.trials.empty() || !kernel.error.empty();
      results.push_back(is_begun ? &kernel : nullptr);
      if (is_begun) result.kernels.push_back(kernel);
    }
    result.records = records_of(tunables_, results, options_.in_use);
    result.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    result.compile_seconds = compiling_.sum_seconds();
    result.compile_wall_seconds = compiling_.covered_seconds();
    result.compile_threads = arena_.max_concurrency();
    for (const auto& station : stations_)
      if (station->workers) result.workers_replaced += station->workers->replaced();
    result.interrupted = options_.interrupted && *options_.interrupted;
    return result;
  }

  std::span<const Tunable> tunables_;
  bool is_cpu_;
  const TuneOptions& options_;
  tbb::task_arena arena_;
  std::vector<std::unique_ptr<Station>> stations_;
  TrialHistory history_;
  std::unique_ptr<TrialLog> log_;
  std::mutex log_mutex_, events_mutex_;
  Meter compiling_;
  std::vector<std::unique_ptr<Sweep>> sweeps_;  // their benches go before the stations
  std::mutex open_mutex_;
  std::set<size_t> open_;
  std::vector<double> weights_, least_;  // of the kernels: survey()
  std::exception_ptr failure_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::chrono::steady_clock::time_point deadline_after(double seconds) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> most = Clock::time_point::max() - now;
  if (seconds >= most.count() / 2) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

size_t KernelResult::count(Measurement::Status status) const {
  return static_cast<size_t>(
      std::count_if(trials.begin(), trials.end(),
                    [&](const LoggedTrial& trial) { return trial.result.status == status; }));
}

namespace {

std::vector<TuningTask> tasks_of(const sched::ScheduledRegion& scheduled,
                                 const sched::SizedChoices& choices) {
  const sched::Candidate& candidate = scheduled.candidate();
  std::vector<sched::SizedKernel> kernels = choices.measured(scheduled.shared());
  const RecordKey region = key_of(candidate);
  if (kernels.empty()) return {{&candidate, region, 1, nullptr, 1, region}};
  std::vector<TuningTask> tasks;
  for (sched::SizedKernel& kernel : kernels) {
    const auto sized = std::make_shared<const sched::SizedKernel>(std::move(kernel));
    tasks.push_back(
        {sized->candidate.get(), key_of(*sized->candidate), 1, sized, kernels.size(), region});
  }
  return tasks;
}

}  // namespace

std::vector<TuningTask> tuning_tasks(std::span<const backends::Scheduled> graphs) {
  std::vector<TuningTask> tasks;
  std::map<RecordKey, std::vector<size_t>> places;  // of the region's tasks
  std::map<RecordKey, size_t> place_of_key;
  for (const backends::Scheduled& graph : graphs) {
    if (graph.regions.empty()) continue;
    std::vector<const sched::Region*> regions;
    for (const sched::ScheduledRegion& one : graph.regions) regions.push_back(&one.region());
    const sched::SizedChoices choices(*graph.graph, regions,
                                      graph.regions.front().candidate().target(),
                                      sched::analytic_configs());
    for (const sched::ScheduledRegion& scheduled : graph.regions) {
      if (scheduled.candidate().host_call()) continue;  // no kernel
      const RecordKey key = key_of(scheduled.candidate());
      const auto [entry, inserted] = places.try_emplace(key);
      for (const size_t task : entry->second) ++tasks[task].launches;
      if (!inserted) continue;
      for (TuningTask& task : tasks_of(scheduled, choices)) {
        const auto [place, is_new] = place_of_key.try_emplace(task.key, tasks.size());
        entry->second.push_back(place->second);
        if (is_new)
          tasks.push_back(std::move(task));
        else
          ++tasks[place->second].launches;
      }
    }
  }
  return tasks;
}

TuneResult tune_tunables(std::span<const Tunable> tunables, bool is_cpu,
                         std::span<const std::string> devices, const TuneOptions& options) {
  return Tuning(tunables, is_cpu, devices, options).run();
}

TuneResult tune_tasks(std::span<const TuningTask> tasks, const sched::Target& target,
                      std::span<const std::string> devices, const TuneOptions& options) {
  std::vector<Tunable> tunables;
  for (const TuningTask& task : tasks) tunables.push_back(tunable_of(task, options.compile));
  return tune_tunables(tunables, target.is_cpu, devices, options);
}

TuneResult tune(const ir::Graph& graph, const std::string& device, const TuneOptions& options) {
  const std::shared_ptr<runtime::Device> opened = runtime::open_device(device);
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, opened->target(), options.compile));
  const std::vector<TuningTask> tasks = tuning_tasks(graphs);
  const std::string name = opened->name();
  return tune_tasks(tasks, opened->target(), {&name, 1}, options);
}

bool in_shard(const RecordKey& key, int index, int count) {
  TCC_CHECK(index >= 0 && index < count, "shard ", index, " of ", count);
  const uint64_t hash = Hasher().add(key.kernel_template).add(key.region).digest().low;
  return hash % static_cast<uint64_t>(count) == static_cast<uint64_t>(index);
}

std::vector<TuningTask> shard(std::span<const TuningTask> tasks, int index, int count) {
  std::vector<TuningTask> part;
  for (const TuningTask& task : tasks)
    if (in_shard(task.key, index, count)) part.push_back(task);
  return part;
}

}  // namespace tcc::autotune
