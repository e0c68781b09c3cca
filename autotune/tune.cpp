#include "autotune/tune.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "autotune/sweep.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/parallel.h"

namespace tcc::autotune {
namespace {

using Clock = std::chrono::steady_clock;

// Kernels under way on one GPU: one is measured while the next ones compile.
constexpr size_t kSweepsPerGpu = 3;

// A device, and what measures on it.
struct Station {
  std::string name;
  std::mutex mutex;  // one measurement at a time
  std::unique_ptr<WorkerPool> workers;

  std::unique_ptr<Bench> open(BenchJob job, const TuneOptions& options) {
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
        arena_(options.jobs > 0 ? std::min(options.jobs, parallelism()) : parallelism()),
        results_(tunables.size()) {
    if (devices.empty()) fail_input("no device to tune on");
    for (const std::string& device : devices) {
      stations_.push_back(std::make_unique<Station>());
      stations_.back()->name = device;
    }
    if (options.log.empty()) return;
    if (options.resume)
      history_ = read_trial_log(
          options.log, options.warn ? options.warn : [](const auto&) {});
    log_ = open_trial_log(options.log);
  }

  TuneResult run() {
    std::vector<size_t> round(tunables_.size());
    std::iota(round.begin(), round.end(), size_t{0});
    for (; !round.empty(); round = cut_off()) work_through(round);
    if (failure_) std::rethrow_exception(failure_);
    return collect();
  }

 private:
  // Every device takes the next kernel when it is free.
  void work_through(const std::vector<size_t>& round) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (const auto& station : stations_)
      for (size_t i = 0; i < sweeps_per_device(); ++i)
        threads.emplace_back([&] { work(round, next, *station); });
    for (std::thread& thread : threads) thread.join();
  }

  void work(const std::vector<size_t>& round, std::atomic<size_t>& next, Station& station) try {
    for (size_t at = next++; at < round.size() && !stopped(); at = next++) {
      const size_t kernel = round[at];
      results_[kernel] = run_sweep(kernel, station, deadline(kernel, round.size() - at));
    }
  } catch (...) {
    std::lock_guard lock(events_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }

  KernelResult run_sweep(size_t i, Station& station, Clock::time_point end) {
    const SweepContext context{options_,
                               is_cpu_,
                               arena_,
                               compiling_,
                               log_.get(),
                               log_mutex_,
                               history_,
                               events_mutex_,
                               station.mutex,
                               station.name,
                               [&](BenchJob job) { return station.open(std::move(job), options_); },
                               end,
                               results_[i] ? &*results_[i] : nullptr};
    return sweep(tunables_[i], context);
  }

  // The kernels of the next round: those that their share of the budget cut off go on where they
  // were while others left time over, those that take most of a run first.
  std::vector<size_t> cut_off() {
    std::vector<size_t> kernels;
    if (options_.budget_seconds <= 0 || stopped() || seconds_left() < 0.1) return kernels;
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i] || results_[i]->ended != "budget" || !results_[i]->error.empty()) continue;
      TaskHistory& known = history_[tunables_[i].key];
      known.task = results_[i]->task;
      known.trials = results_[i]->trials;
      kernels.push_back(i);
    }
    const auto weight = [&](size_t i) {
      return results_[i]->launches * results_[i]->default_seconds;
    };
    std::sort(kernels.begin(), kernels.end(),
              [&](size_t a, size_t b) { return weight(a) > weight(b); });
    return kernels;
  }

  bool stopped() {
    if (options_.interrupted && *options_.interrupted) return true;
    std::lock_guard lock(events_mutex_);
    return failure_ != nullptr;
  }

  size_t sweeps_per_device() const { return is_cpu_ ? 1 : kSweepsPerGpu; }

  double seconds_left() const {
    return options_.budget_seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // What is left of the budget is shared by the kernels that are left in the round, on all devices
  // at once. One that goes on has at least the time that it had before: it prepares itself anew.
  Clock::time_point deadline(size_t kernel, size_t kernels_left) const {
    if (options_.budget_seconds <= 0) return Clock::time_point::max();
    const double left = std::max(seconds_left(), 0.0);
    const auto at_once = static_cast<double>(stations_.size() * sweeps_per_device());
    double share = left * std::min(1.0, at_once / static_cast<double>(kernels_left));
    if (results_[kernel]) share = std::max(share, std::min(left, results_[kernel]->wall_seconds));
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(share));
  }

  TuneResult collect() {
    TuneResult result;
    for (std::optional<KernelResult>& kernel : results_) {
      if (!kernel) continue;
      if (kernel->record) result.records.add(*kernel->record);
      result.kernels.push_back(std::move(*kernel));
    }
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
  std::vector<std::optional<KernelResult>> results_;
  std::exception_ptr failure_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

size_t KernelResult::count(Measurement::Status status) const {
  return static_cast<size_t>(
      std::count_if(trials.begin(), trials.end(),
                    [&](const LoggedTrial& trial) { return trial.result.status == status; }));
}

std::vector<TuningTask> tuning_tasks(std::span<const backends::Scheduled> graphs,
                                     const sched::Target& target) {
  std::vector<TuningTask> tasks;
  std::map<RecordKey, size_t> places;
  for (const backends::Scheduled& graph : graphs) {
    for (const sched::Region& region : graph.regions) {
      bool empty =
          std::all_of(region.outputs.begin(), region.outputs.end(),
                      [&](const ir::Value* output) { return region.layout(output).elements == 0; });
      if (empty) continue;
      const sched::Template& kernel_template = sched::template_for(region, target);
      RecordKey key = key_of(kernel_template, region, target);
      auto [entry, inserted] = places.try_emplace(key, tasks.size());
      if (inserted)
        tasks.push_back({&region, &kernel_template, key, 1});
      else
        ++tasks[entry->second].launches;
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
  for (const TuningTask& task : tasks)
    tunables.push_back(tunable_of(task, target, options.compile));
  return tune_tunables(tunables, target.is_cpu, devices, options);
}

TuneResult tune(const ir::Graph& graph, const std::string& device, const TuneOptions& options) {
  const std::shared_ptr<runtime::Device> opened = runtime::open_device(device);
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, opened->target(), options.compile));
  const std::vector<TuningTask> tasks = tuning_tasks(graphs, opened->target());
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
