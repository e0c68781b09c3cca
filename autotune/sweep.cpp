#include "autotune/sweep.h"

#include <oneapi/tbb/parallel_pipeline.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "autotune/finals.h"
#include "support/error.h"
#include "support/fork_join.h"
#include "support/hash.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::autotune {
namespace {

using Status = Measurement::Status;
using Clock = std::chrono::steady_clock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Theoretical bandwidths are not quite lower bounds: part of the data stays in caches.
constexpr double kBoundMargin = 0.9;

// A trial on its way through the pipeline.
struct Candidate {
  Trial trial;
  std::optional<sched::KernelBinary> binary;  // empty: refused, or the sweep was stopped
  double compile_seconds = 0;
  std::string failure;
};

class Sweep {
 public:
  Sweep(const Tunable& tunable, const SweepContext& context)
      : tunable_(tunable), context_(context), options_(context.options), start_(Clock::now()) {
    result_.task = {tunable.key,   tunable.name,           tunable.operands, tunable.environment,
                    tunable.space, tunable.default_config, bound()};
    result_.output = tunable.output;
    result_.device = context.device;
    result_.launches = tunable.launches;
    result_.space_size = tunable.space.size();
    result_.flops = tunable.flops;
    result_.bytes = tunable.bytes;
    if (auto found = context.history.find(tunable.key); found != context.history.end())
      if (found->second.task.environment == tunable.environment)
        for (const LoggedTrial& trial : found->second.trials)
          logged_[{trial.config, trial.effort}] = trial;
  }

  KernelResult run() {
    begin();
    try {
      measure_default();
      search();
      take_logged();
      if (!interrupted()) final();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      result_.error = error.what();
      if (result_.ended.empty()) result_.ended = "error";
    }
    make_record();
    keep_earlier();
    update_times();
    event(options_.events.finished);
    return std::move(result_);
  }

 private:
  double bound() const { return tunable_.bound_seconds * kBoundMargin; }
  bool interrupted() const { return options_.interrupted && *options_.interrupted; }
  bool stopped() const { return interrupted() || Clock::now() >= search_end_; }
  // The finals need their part of a budget: without them nothing but the default is known well.
  Clock::time_point search_end() const {
    constexpr double kSearch = 0.7;
    if (context_.deadline == Clock::time_point::max()) return context_.deadline;
    return start_ +
           std::chrono::duration_cast<Clock::duration>(kSearch * (context_.deadline - start_));
  }

  void begin() {
    if (context_.log) {
      std::lock_guard lock(context_.log_mutex);
      context_.log->begin(result_.task);
    }
    event(options_.events.started);
  }

  void event(const std::function<void(const KernelResult&)>& callback) {
    if (!callback) return;
    std::lock_guard lock(context_.events_mutex);
    callback(result_);
  }

  void update_times() {
    result_.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // ---- compiling, from any thread

  sched::KernelBinary compile(const sched::Config& config, double& seconds) const {
    Meter::Span span(context_.compiling);
    sched::KernelBinary binary = tunable_.compile(config);
    seconds = span.seconds();
    return binary;
  }

  Candidate compile_candidate(const Trial& trial) const {
    Candidate candidate{trial, std::nullopt, 0, ""};
    if (stopped()) return candidate;
    try {
      candidate.binary = compile(trial.config, candidate.compile_seconds);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      candidate.failure = error.what();
    }
    return candidate;
  }

  // ---- measuring, one at a time

  // Runs the kernel whose outputs are expected. Only what is not in the log needs the device.
  void open() {
    if (bench_) return;
    // The reference is computed on the CPU: not while another sweep measures on it.
    std::unique_lock device(context_.device_mutex, std::defer_lock);
    if (context_.device_is_cpu) device.lock();
    BenchJob job = tunable_.job(seed());
    double seconds = 0;
    default_binary_ = compile(tunable_.default_config, seconds);
    const sched::KernelBinary expected = tunable_.expected ? tunable_.expected() : *default_binary_;
    if (!device.owns_lock()) device.lock();
    bench_ = context_.open_bench(std::move(job));
    baseline_ = bench_->baseline(expected);
    if (baseline_.status != Status::measured)
      fail_device(tunable_.expected ? "the kernel that gives the expected outputs: "
                                    : "the default config: ",
                  baseline_.reason);
    if (tunable_.expected) baseline_ = bench_->measure(*default_binary_, Effort::full, kInfinity);
    default_compile_seconds_ = seconds;
  }

  void measure_default() {
    const Trial trial{tunable_.default_config, Effort::full};
    if (const LoggedTrial* known = logged(trial)) {
      note(*known, true);
    } else {
      open();
      note(
          {trial.config, trial.effort, estimate(trial.config), default_compile_seconds_, baseline_},
          false);
    }
    const Measurement& measured = result_.trials.front().result;
    if (measured.status == Status::measured) result_.default_seconds = measured.seconds;
    event(options_.events.trial);
  }

  void measure(Searcher& searcher, Candidate& candidate) {
    if (stopped() || (!candidate.binary && candidate.failure.empty())) return;
    LoggedTrial trial{candidate.trial.config,
                      candidate.trial.effort,
                      estimate(candidate.trial.config),
                      candidate.compile_seconds,
                      {}};
    if (candidate.binary) {
      std::lock_guard device(context_.device_mutex);
      trial.result = bench_->measure(*candidate.binary, candidate.trial.effort, best_or_infinity());
    } else {
      trial.result.status = Status::refused;
      trial.result.reason = candidate.failure;
    }
    candidate.binary.reset();
    note(trial, false);
    report(searcher, trial);
  }

  double best_or_infinity() const {
    return result_.best_seconds > 0 ? result_.best_seconds : kInfinity;
  }

  void report(Searcher& searcher, const LoggedTrial& trial) {
    const bool timed =
        trial.result.status == Status::measured || trial.result.status == Status::slow;
    searcher.report({trial.config, trial.effort},
                    timed ? std::optional(trial.result.seconds) : std::nullopt);
    event(options_.events.trial);
  }

  // What the log holds beside the trials that this search proposed: of another seed, or a longer
  // search.
  void take_logged() {
    std::set<std::pair<sched::Config, Effort>> noted;
    for (const LoggedTrial& trial : result_.trials) noted.insert({trial.config, trial.effort});
    for (const auto& [trial, logged] : logged_)
      if (!noted.count(trial) && tunable_.space.violation(trial.first).empty()) note(logged, true);
  }

  void note(const LoggedTrial& trial, bool from_log) {
    result_.trials.push_back(trial);
    result_.resumed += from_log;
    result_.compile_seconds += trial.compile_seconds;
    if (context_.log && !from_log) {
      std::lock_guard lock(context_.log_mutex);
      context_.log->append(tunable_.key, trial);
    }
    const Measurement& m = trial.result;
    if (m.status == Status::measured && trial.effort == Effort::full &&
        m.seconds < best_or_infinity()) {
      result_.best_seconds = m.seconds;
      result_.best_config = trial.config;
    }
    update_times();
  }

  const LoggedTrial* logged(const Trial& trial) const {
    auto found = logged_.find({trial.config, trial.effort});
    return found == logged_.end() ? nullptr : &found->second;
  }

  double estimate(const sched::Config& config) const {
    return tunable_.estimate ? tunable_.estimate(config) : 0;
  }
  uint64_t seed() const {
    return Hasher().add(options_.seed).add(tunable_.key.region).digest().low;
  }

  // ---- the search

  void search() {
    SearchProblem problem;
    problem.space = &tunable_.space;
    problem.known = tunable_.default_config;
    problem.known_seconds = result_.default_seconds;
    problem.trials = options_.trials;
    problem.seed = seed();
    problem.estimate = tunable_.estimate;
    problem.bound_seconds = bound();
    auto searcher = make_searcher(options_.search, problem);
    for (auto batch = searcher->next_batch(); !batch.empty(); batch = searcher->next_batch()) {
      if (stopped()) break;
      result_.planned += batch.size();
      try_batch(*searcher, batch);
    }
    result_.ended = interrupted() ? "interrupted" : stopped() ? "budget" : why_over();
  }

  std::string why_over() const {
    std::set<sched::Config> tried;
    for (const LoggedTrial& trial : result_.trials) tried.insert(trial.config);
    if (static_cast<int64_t>(tried.size()) >= result_.space_size) return "space exhausted";
    if (bound() > 0 && result_.best_seconds > 0 && result_.best_seconds <= bound() * kNearBound)
      return "bound reached";
    return result_.trials.size() > options_.trials ? "trials" : "search converged";
  }

  void try_batch(Searcher& searcher, const std::vector<Trial>& batch) {
    std::vector<Trial> unknown;
    for (const Trial& trial : batch) {
      const LoggedTrial* known = logged(trial);
      if (!known) {
        unknown.push_back(trial);
        continue;
      }
      note(*known, true);
      report(searcher, *known);
    }
    if (unknown.empty()) return;
    open();
    if (context_.device_is_cpu)
      alternate(searcher, unknown);
    else
      overlap(searcher, unknown);
  }

  // On a CPU device, compiling would slow down what is measured.
  void alternate(Searcher& searcher, const std::vector<Trial>& batch) {
    const size_t some = 2 * static_cast<size_t>(context_.compile_arena.max_concurrency());
    for (size_t begin = 0; begin < batch.size() && !stopped(); begin += some) {
      std::vector<Candidate> candidates(std::min(some, batch.size() - begin));
      {
        std::lock_guard device(context_.device_mutex);
        const auto compile_all = [&] {
          const ForkJoin::Task delegated;  // another thread may have taken it over
          parallel_for(0, static_cast<int64_t>(candidates.size()), 1,
                       [&](int64_t from, int64_t to) {
                         for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
                           candidates[i] = compile_candidate(batch[begin + i]);
                       });
        };
        const ForkJoin order;
        context_.compile_arena.execute(compile_all);
      }
      for (Candidate& candidate : candidates) measure(searcher, candidate);
    }
  }

  // One thread at a time measures, in the batch's order, while the others compile; the number of
  // binaries in memory is bounded.
  void overlap(Searcher& searcher, const std::vector<Trial>& batch) {
    size_t next = 0;
    std::vector<Candidate> candidates(batch.size());
    OrderPoint fed, built, taken;
    auto feed = [&](tbb::flow_control& control) -> size_t {
      const ForkJoin::Task task;
      fed.passed();
      if (next == batch.size() || stopped()) control.stop();
      const size_t i = next++;
      fed.reached();
      return i;
    };
    auto build = [&](size_t i) {
      const ForkJoin::Task task;
      candidates[i] = compile_candidate(batch[i]);
      built.reached();
      return i;
    };
    auto take = [&](size_t i) {
      const ForkJoin::Task task;
      built.passed();
      taken.passed();
      measure(searcher, candidates[i]);
      candidates[i] = {};
      taken.reached();
    };
    using Mode = tbb::filter_mode;
    const auto run_all = [&] {
      const ForkJoin::Task delegated;
      const auto chain = tbb::make_filter<void, size_t>(Mode::serial_in_order, feed) &
                         tbb::make_filter<size_t, size_t>(Mode::parallel, build) &
                         tbb::make_filter<size_t, void>(Mode::serial_in_order, take);
      const ForkJoin parts;
      tbb::parallel_pipeline(2 * static_cast<size_t>(context_.compile_arena.max_concurrency()),
                             chain);
    };
    const ForkJoin order;
    context_.compile_arena.execute(run_all);
  }

  // ---- the end

  // The fastest candidates against one another and against the default, interleaved.
  void final() {
    if (result_.best_seconds <= 0) return;
    const std::vector<sched::Config> configs = finalists(result_.trials);
    if (configs.empty() || configs == std::vector{tunable_.default_config}) return;
    if (nothing_new()) return;
    if (!bench_ && !looked_at_briefly(configs)) return;
    open();
    std::map<sched::Config, sched::KernelBinary> binaries = {
        {tunable_.default_config, *default_binary_}};
    double seconds = 0;
    for (const sched::Config& config : configs)  // before the device is taken
      if (!binaries.count(config)) binaries[config] = compile(config, seconds);
    std::lock_guard device(context_.device_mutex);
    const FinalResult winner =
        play_finals(*bench_, configs, tunable_.default_config,
                    [&](const sched::Config& config) { return binaries.at(config); });
    winner_ = winner;
    result_.best_config = winner.config;
    result_.best_seconds = winner.measured.seconds;
    if (winner.default_seconds > 0) result_.default_seconds = winner.default_seconds;
  }

  // Whether one of the configs has quick trials alone, behind which no record stands.
  bool looked_at_briefly(const std::vector<sched::Config>& configs) const {
    return std::any_of(configs.begin(), configs.end(), [&](const sched::Config& config) {
      return std::none_of(result_.trials.begin(), result_.trials.end(), [&](const auto& trial) {
        return trial.config == config && trial.effort == Effort::full;
      });
    });
  }

  bool nothing_new() const {
    return context_.before && context_.before->trials.size() == result_.trials.size();
  }

  // The winner of earlier finals stands where there are no more trials, or their finals have none.
  void keep_earlier() {
    if (!context_.before) return;
    const KernelResult& before = *context_.before;
    result_.resumed = before.resumed;
    const auto found = [&](const KernelResult& result) {
      return result.record && result.record->best != tunable_.default_config;
    };
    if (!found(before) || (found(result_) && !nothing_new())) return;
    result_.record = before.record;
    result_.best_config = before.best_config;
    result_.best_seconds = before.best_seconds;
    result_.default_seconds = before.default_seconds;
  }

  // A default that nothing was compared with is no find: it must not outrank other records.
  bool only_default() const {
    return result_.trials.size() < 2 &&
           (result_.ended == "budget" || result_.ended == "interrupted");
  }

  std::string policy() const {
    return str(name(options_.search), " search, ", counted(result_.trials.size(), "trial"),
               ", ended: ", result_.ended, "; medians, ", context_.device_is_cpu ? "warm" : "cold",
               " cache", winner_ ? ", interleaved finals" : "");
  }

  void make_record() {
    if (result_.best_seconds <= 0 || only_default()) return;
    // Cut off before its finals: nobody knows whether what was looked at briefly is faster.
    if (result_.ended == "interrupted" && !winner_ && looked_at_briefly(finalists(result_.trials)))
      return;
    Record record;
    record.key = tunable_.key;
    record.name = tunable_.name;
    record.operands = tunable_.operands;
    record.family = tunable_.family;
    record.extents = tunable_.extents;
    record.environment = tunable_.environment;
    record.best = result_.best_config;
    const Measurement* best = winner_ ? &winner_->measured : measurement_of(result_.best_config);
    TCC_CHECK(best, "the best config was measured");
    record.seconds = best->seconds;
    record.low = best->low;
    record.high = best->high;
    record.samples = static_cast<int64_t>(best->samples.size());
    record.error = measurement_of(result_.best_config)->error;
    record.default_seconds = result_.default_seconds;
    record.runners_up = runners_up(result_.trials, result_.best_config);
    record.policy = policy();
    record.tcc = tcc_version();
    record.date = date_today();
    result_.record = std::move(record);
  }

  // The full one, where there is one.
  const Measurement* measurement_of(const sched::Config& config) const {
    const Measurement* found = nullptr;
    for (const LoggedTrial& trial : result_.trials)
      if (trial.config == config && (!found || trial.effort == Effort::full)) found = &trial.result;
    return found;
  }

  const Tunable& tunable_;
  const SweepContext& context_;
  const TuneOptions& options_;
  Clock::time_point start_;
  const Clock::time_point search_end_ = search_end();
  std::map<std::pair<sched::Config, Effort>, LoggedTrial> logged_;
  std::unique_ptr<Bench> bench_;
  std::optional<sched::KernelBinary> default_binary_;
  double default_compile_seconds_ = 0;
  Measurement baseline_;
  std::optional<FinalResult> winner_;
  KernelResult result_;
};

}  // namespace

KernelResult sweep(const Tunable& tunable, const SweepContext& context) {
  return Sweep(tunable, context).run();
}

}  // namespace tcc::autotune
