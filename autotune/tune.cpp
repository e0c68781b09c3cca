#include "autotune/tune.h"

#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <map>

#include "autotune/measure.h"
#include "autotune/search.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/parallel.h"

namespace tcc::autotune {
namespace {

struct Candidate {
  sched::Config config;
  std::unique_ptr<runtime::LoadedKernel> kernel;  // null: it failed, or tuning stopped before
  std::string failure;
};

class KernelTuner {
 public:
  KernelTuner(std::shared_ptr<runtime::Device> device, const TuningTask& task,
              const TuneOptions& options)
      : device_(std::move(device)),
        task_(task),
        options_(options),
        space_(task.kernel_template->space(*task.region, device_->target())),
        seed_(Hasher().add(options.seed).add(task.key.region).digest().low),
        arena_(options.jobs > 0 ? std::min(options.jobs, parallelism()) : parallelism()) {}

  KernelResult run() {
    try {
      measure_default();
      search();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      result_.error = error.what();
    }
    result_.device_lost = lost_;
    if (best_) make_record();
    return std::move(result_);
  }

 private:
  bool stopped() const {
    return lost_ || (options_.interrupted && *options_.interrupted) ||
           std::chrono::steady_clock::now() >= options_.deadline;
  }

  std::unique_ptr<runtime::LoadedKernel> load(const sched::Config& config) const {
    return device_->load(backends::compile_region(*task_.region, *task_.kernel_template, config,
                                                  device_->target(), options_.compile));
  }

  void measure_default() {
    result_.default_config =
        task_.kernel_template->default_config(*task_.region, device_->target());
    default_kernel_ = load(result_.default_config);
    bench_.emplace(device_, *task_.region, seed_);
    bench_->set_expected(*default_kernel_);
    Measurement measured =
        bench_->measure(*default_kernel_, std::numeric_limits<double>::infinity());
    if (measured.status != Measurement::Status::measured)
      fail_device("the default config: ", measured.reason);
    result_.default_seconds = measured.seconds;
    keep(result_.default_config, measured);
  }

  void search() {
    auto searcher = random_search(space_, result_.default_config, options_.trials, seed_);
    for (auto batch = searcher->next_batch(); !batch.empty() && !stopped();
         batch = searcher->next_batch()) {
      result_.planned += batch.size();
      if (device_->target().is_cpu)
        alternate(*searcher, batch);
      else
        overlap(*searcher, batch);
    }
  }

  // Thread-safe.
  Candidate compile(const sched::Config& config) const {
    Candidate candidate{config, nullptr, ""};
    if (stopped()) return candidate;
    try {
      candidate.kernel = load(config);
    } catch (const Error& error) { candidate.failure = error.what(); }
    return candidate;
  }

  // On a CPU device, compiling would slow down what is measured.
  void alternate(Searcher& searcher, const std::vector<sched::Config>& batch) {
    size_t some = 2 * static_cast<size_t>(arena_.max_concurrency());
    for (size_t begin = 0; begin < batch.size() && !stopped(); begin += some) {
      std::vector<Candidate> candidates(std::min(some, batch.size() - begin));
      arena_.execute([&] {
        parallel_for(0, static_cast<int64_t>(candidates.size()), 1, [&](int64_t from, int64_t to) {
          for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
            candidates[i] = compile(batch[begin + i]);
        });
      });
      for (Candidate& candidate : candidates) measure(searcher, candidate);
    }
  }

  // One thread at a time measures, in the batch's order, while the others compile; the number of
  // kernels in memory is bounded.
  void overlap(Searcher& searcher, const std::vector<sched::Config>& batch) {
    size_t next = 0;
    auto feed = [&](tbb::flow_control& control) -> size_t {
      if (next == batch.size() || stopped()) control.stop();
      return next++;
    };
    auto build = [&](size_t i) { return std::make_shared<Candidate>(compile(batch[i])); };
    auto take = [&](const std::shared_ptr<Candidate>& candidate) { measure(searcher, *candidate); };
    using Mode = tbb::filter_mode;
    arena_.execute([&] {
      tbb::parallel_pipeline(
          2 * static_cast<size_t>(arena_.max_concurrency()),
          tbb::make_filter<void, size_t>(Mode::serial_in_order, feed) &
              tbb::make_filter<size_t, std::shared_ptr<Candidate>>(Mode::parallel, build) &
              tbb::make_filter<std::shared_ptr<Candidate>, void>(Mode::serial_in_order, take));
    });
  }

  void measure(Searcher& searcher, Candidate& candidate) {
    if (stopped() || (!candidate.kernel && candidate.failure.empty())) return;
    Measurement measured;
    measured.reason = candidate.failure;
    if (candidate.kernel) measured = bench_->measure(*candidate.kernel, result_.best_seconds);
    candidate.kernel.reset();
    count(candidate.config, measured, candidate.failure.empty());
    bool usable = measured.status == Measurement::Status::measured;
    if (usable) keep(candidate.config, measured);
    searcher.report(candidate.config, usable || measured.status == Measurement::Status::slow
                                          ? std::optional(measured.seconds)
                                          : std::nullopt);
    if (options_.progress) options_.progress(result_);
  }

  void count(const sched::Config& config, const Measurement& measured, bool compiled) {
    using Status = Measurement::Status;
    ++result_.tried;
    result_.slow += measured.status == Status::slow;
    result_.wrong += measured.status == Status::wrong;
    result_.failed += measured.status == Status::failed;
    std::string line = str(config.to_string(), ": ", measured.reason);
    if (measured.status == Status::wrong && result_.first_wrong.empty()) result_.first_wrong = line;
    if (measured.status != Status::failed) return;
    if (result_.first_failure.empty()) result_.first_failure = line;
    // A kernel that the device refused may have cost us the device.
    if (!compiled) return;
    Measurement again = bench_->measure(*default_kernel_, result_.default_seconds);
    if (again.status == Measurement::Status::measured || again.status == Measurement::Status::slow)
      return;
    lost_ = true;
    result_.error = str("the device fails since config ", line);
  }

  void keep(const sched::Config& config, const Measurement& measured) {
    if (best_ && (measured.seconds > result_.best_seconds ||
                  (measured.seconds == result_.best_seconds && config.hash() >= best_->hash())))
      return;
    best_ = config;
    best_measured_ = measured;
    result_.best_seconds = measured.seconds;
  }

  void make_record() {
    Record record;
    record.key = task_.key;
    record.name = task_.region->name();
    record.operands = operands_text(*task_.region);
    record.environment = environment_of(space_, device_->target());
    record.best = *best_;
    record.seconds = best_measured_.seconds;
    record.default_seconds = result_.default_seconds;
    record.samples = best_measured_.samples;
    record.error = best_measured_.error;
    result_.record = std::move(record);
  }

  std::shared_ptr<runtime::Device> device_;
  const TuningTask& task_;
  const TuneOptions& options_;
  sched::ConfigSpace space_;
  uint64_t seed_;
  tbb::task_arena arena_;
  std::atomic<bool> lost_ = false;
  std::unique_ptr<runtime::LoadedKernel> default_kernel_;
  std::optional<RegionBench> bench_;
  std::optional<sched::Config> best_;
  Measurement best_measured_;
  KernelResult result_;
};

}  // namespace

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

KernelResult tune_kernel(const std::shared_ptr<runtime::Device>& device, const TuningTask& task,
                         const TuneOptions& options) {
  return KernelTuner(device, task, options).run();
}

}  // namespace tcc::autotune
