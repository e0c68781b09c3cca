#include "autotune/sweep.h"

#include <oneapi/tbb/parallel_pipeline.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "autotune/finals.h"
#include "autotune/sweep_record.h"
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
// A candidate whose own measurement is that much slower than today's config is not worth a duel:
// more than the load of the machine is behind it.
constexpr double kHopeless = 1.5;
constexpr double kMostForFinals = 0.4;  // of a turn
constexpr double kDuels = 3;            // that the finals are given the time for
constexpr int kLeastTrials = 2;         // of a turn that is worth its while

// A trial on its way through the pipeline.
struct Candidate {
  Trial trial;
  std::optional<exec::StandaloneSequence> binary;  // empty: refused, or the sweep was stopped
  double compile_seconds = 0;
  std::string failure;
};

class KernelSweep final : public Sweep {
 public:
  KernelSweep(const Tunable& tunable, const SweepResources& resources)
      : tunable_(tunable), resources_(resources), options_(resources.options) {
    result_.task = {tunable.key,   tunable.name,           tunable.operands, tunable.environment,
                    tunable.space, tunable.default_config, bound()};
    result_.output = tunable.output;
    result_.launches = tunable.launches;
    result_.space_size = tunable.space.size();
    result_.flops = tunable.flops;
    result_.bytes = tunable.bytes;
    result_.today = {tunable.default_config, sched::Tier::analytic};
    if (options_.in_use && tunable.choose) result_.today = tunable.choose(*options_.in_use);
    incumbent_ = result_.today.config;
    if (auto found = resources.history.find(tunable.key); found != resources.history.end())
      if (found->second.task.environment == tunable.environment)
        for (const LoggedTrial& trial : found->second.trials)
          logged_[{trial.config, trial.effort}] = trial;
  }

  void prepare(const SweepTurn& turn) override {
    if (is_prepared_ || over_) return;
    const Taking taking(*this, turn);
    guarded([&] { measure_known(); });
    if (!result_.error.empty()) event(options_.events.finished);
  }

  void run(const SweepTurn& turn) override {
    if (over_) return;
    const Taking taking(*this, turn);
    guarded([&] {
      measure_known();
      search();
      take_logged();
      final();
    });
    conclude();
    update_times();
    event(options_.events.finished);
  }

  void leave() override {
    if (over_ || !result_.ended.empty()) return;
    result_.ended = interrupted() ? "interrupted" : "budget";
    conclude();
    event(options_.events.finished);
  }

  void close() override { bench_.reset(); }
  bool is_prepared() const override { return is_prepared_; }
  bool is_over() const override { return over_; }
  double least_seconds() const override { return kLeastTrials * trial_seconds_ + duel_seconds(); }
  const KernelResult& result() const override { return result_; }

 private:
  // While a device is the sweep's.
  struct Taking {
    KernelSweep& sweep;
    Taking(KernelSweep& of, const SweepTurn& turn) : sweep(of) {
      if (sweep.result_.device != turn.device) sweep.bench_.reset();
      sweep.result_.device = turn.device;
      sweep.turn_ = &turn;
      sweep.start_ = Clock::now();
      sweep.begin();
    }
    ~Taking() {
      sweep.update_times();
      sweep.wall_before_ = sweep.result_.wall_seconds;
      sweep.turn_ = nullptr;
    }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;
  };

  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      result_.error = error.what();
      if (result_.ended.empty() || result_.ended == "budget") result_.ended = "error";
      over_ = true;
    }
  }

  double bound() const { return tunable_.bound_seconds * kBoundMargin; }
  bool interrupted() const { return options_.interrupted && *options_.interrupted; }
  bool stopped() const { return interrupted() || Clock::now() >= search_end_; }
  // The finals are to end soon: with what they know.
  bool in_a_hurry() const { return interrupted() || Clock::now() >= turn_->deadline; }
  // Without finals no result of the search can be kept, so that a part of every turn is reserved
  // for them.
  Clock::time_point search_end() const {
    if (turn_->deadline == Clock::time_point::max()) return turn_->deadline;
    const std::chrono::duration<double> turn = turn_->deadline - start_,
                                        finals(std::min(kMostForFinals * turn.count(),
                                                        most_duels() * duel_seconds()));
    return turn_->deadline - std::chrono::duration_cast<Clock::duration>(finals);
  }
  // The default has a duel of its own where it is not in use.
  double most_duels() const { return kDuels + (incumbent_ == tunable_.default_config ? 0 : 1); }
  // Two rounds, each of six pairs or more, with its warm-up.
  double duel_seconds() const {
    constexpr double kRounds = 2, kRunsOfRound = 16;
    return kRounds * (trial_seconds_ / 2 + kRunsOfRound * result_.today_seconds);
  }

  void begin() {
    if (resources_.log && !logging_) {
      std::lock_guard lock(resources_.log_mutex);
      resources_.log->begin(result_.task);
      logging_ = true;
    }
    event(options_.events.started);
  }

  void event(const std::function<void(const KernelResult&)>& callback) {
    if (!callback) return;
    std::lock_guard lock(resources_.events_mutex);
    callback(result_);
  }

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void update_times() { result_.wall_seconds = wall_before_ + seconds_since(start_); }
  // A full trial took so long: the first ones warm things up for the others.
  void took(double seconds) {
    trial_seconds_ = trial_seconds_ > 0 ? std::min(trial_seconds_, seconds) : seconds;
  }

  // ---- compiling, from any thread

  exec::StandaloneSequence compile(const sched::Config& config, double& seconds) const {
    Meter::Span span(resources_.compiling);
    exec::StandaloneSequence binary = tunable_.compile(config);
    seconds = span.seconds();
    return binary;
  }

  Candidate compile_unless_stopped(const Trial& trial) const {
    return stopped() ? Candidate{trial, std::nullopt, 0, ""} : compile_candidate(trial);
  }

  Candidate compile_candidate(const Trial& trial) const {
    Candidate candidate{trial, std::nullopt, 0, ""};
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
    std::unique_lock device(turn_->device_mutex, std::defer_lock);
    if (resources_.device_is_cpu) device.lock();
    BenchJob job = tunable_.job(seed());
    if (!default_binary_)
      default_binary_ = compile(tunable_.default_config, default_compile_seconds_);
    const exec::StandaloneSequence expected =
        tunable_.expected ? tunable_.expected() : *default_binary_;
    if (!device.owns_lock()) device.lock();
    std::unique_ptr<Bench> bench = turn_->open_bench(std::move(job));
    const Clock::time_point ready = Clock::now();
    baseline_ = bench->baseline(expected);
    if (baseline_.status != Status::measured)
      fail_device(tunable_.expected ? "the kernel that gives the expected outputs: "
                                    : "the default config: ",
                  baseline_.reason);
    if (tunable_.expected) baseline_ = bench->measure(*default_binary_, Effort::full, kInfinity);
    took(default_compile_seconds_ + seconds_since(ready));
    bench_ = std::move(bench);
  }

  // The default config, and the one that is in use.
  void measure_known() {
    if (is_prepared_) return;
    const sched::Config& today = result_.today.config;
    const Measurement default_measured = measure_default();
    if (default_measured.status == Status::measured)
      result_.default_seconds = default_measured.seconds;
    event(options_.events.trial);
    const Measurement measured =
        today == tunable_.default_config ? default_measured : measure_today();
    if (measured.status == Status::measured) {
      result_.today_seconds = measured.seconds;
    } else {
      // The config in use does not work here: the default is to be beaten, and to be saved.
      incumbent_ = tunable_.default_config;
    }
    if (today != tunable_.default_config) event(options_.events.trial);
    is_prepared_ = true;
  }

  Measurement measure_default() {
    const Trial trial{tunable_.default_config, Effort::full};
    if (const LoggedTrial* known = logged(trial)) {
      note(*known, true);
    } else {
      open();
      note(
          {trial.config, trial.effort, estimate(trial.config), default_compile_seconds_, baseline_},
          false);
    }
    return result_.trials.back().result;
  }

  Measurement measure_today() {
    const Trial trial{result_.today.config, Effort::full};
    if (const LoggedTrial* known = logged(trial)) {
      note(*known, true);
      return result_.trials.back().result;
    }
    open();
    Candidate candidate = compile_candidate(trial);
    LoggedTrial measured{
        trial.config, trial.effort, estimate(trial.config), candidate.compile_seconds, {}};
    if (candidate.binary) {
      std::lock_guard device(turn_->device_mutex);
      const Clock::time_point ready = Clock::now();
      measured.result = bench_->measure(*candidate.binary, trial.effort, kInfinity);
      took(candidate.compile_seconds + seconds_since(ready));
    } else {
      measured.result.reason = candidate.failure;
    }
    note(measured, false);
    return measured.result;
  }

  void measure(Searcher& searcher, Candidate& candidate) {
    if (stopped() || (!candidate.binary && candidate.failure.empty())) return;
    LoggedTrial trial{candidate.trial.config,
                      candidate.trial.effort,
                      estimate(candidate.trial.config),
                      candidate.compile_seconds,
                      {}};
    if (candidate.binary) {
      std::lock_guard device(turn_->device_mutex);
      const Clock::time_point ready = Clock::now();
      trial.result = bench_->measure(*candidate.binary, candidate.trial.effort, fastest_);
      if (trial.effort == Effort::full && trial.result.status == Status::measured)
        took(candidate.compile_seconds + seconds_since(ready));
    } else {
      trial.result.status = Status::refused;
      trial.result.reason = candidate.failure;
    }
    candidate.binary.reset();
    note(trial, false);
    report(searcher, trial);
  }

  void report(Searcher& searcher, const LoggedTrial& trial) {
    const bool timed =
        trial.result.status == Status::measured || trial.result.status == Status::slow;
    searcher.report({trial.config, trial.effort},
                    timed ? std::optional(trial.result.seconds) : std::nullopt);
    std::erase_if(pending_, [&](const Trial& one) {
      return one.config == trial.config && one.effort == trial.effort;
    });
    event(options_.events.trial);
  }

  // Adds the trials of the log that this search did not propose; they come from another seed or a
  // longer search.
  void take_logged() {
    std::set<std::pair<sched::Config, Effort>> noted;
    for (const LoggedTrial& trial : result_.trials) noted.insert({trial.config, trial.effort});
    for (const auto& [trial, logged] : logged_)
      if (noted.insert(trial).second && tunable_.space.violation(trial.first).empty())
        note(logged, true);
  }

  void note(const LoggedTrial& trial, bool from_log) {
    result_.trials.push_back(trial);
    result_.resumed += from_log;
    result_.compile_seconds += trial.compile_seconds;
    if (resources_.log && !from_log) {
      std::lock_guard lock(resources_.log_mutex);
      resources_.log->append(tunable_.key, trial);
    }
    const Measurement& m = trial.result;
    if (m.status == Status::measured && trial.effort == Effort::full && m.seconds < fastest_) {
      fastest_ = m.seconds;
      result_.best_config = trial.config;  // so far: conclude() says whether that is true
      result_.best_seconds = m.seconds;
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
  size_t trials() const {
    const double share = std::ceil(tunable_.share * static_cast<double>(options_.trials));
    return static_cast<size_t>(share);
  }
  uint64_t seed() const {
    return Hasher().add(options_.seed).add(tunable_.key.region).digest().low;
  }

  // ---- the search

  void search() {
    search_end_ = search_end();
    if (!searcher_) {
      SearchProblem problem;
      problem.space = &tunable_.space;
      problem.known = {{tunable_.default_config, result_.default_seconds}};
      if (result_.today.config != tunable_.default_config)
        problem.known.push_back({result_.today.config, result_.today_seconds});
      problem.trials = trials();
      problem.seed = seed();
      problem.estimate = tunable_.estimate;
      problem.bound_seconds = bound();
      searcher_ = make_searcher(options_.search, problem);
    }
    while (!stopped()) {
      if (pending_.empty()) {
        pending_ = searcher_->next_batch();
        result_.planned += pending_.size();
      }
      if (pending_.empty()) break;
      try_batch(*searcher_, std::vector<Trial>(pending_));
    }
    result_.ended = interrupted() ? "interrupted" : stopped() ? "budget" : why_over();
    over_ = result_.ended != "budget";
  }

  std::string why_over() const {
    std::set<sched::Config> tried;
    for (const LoggedTrial& trial : result_.trials) tried.insert(trial.config);
    if (static_cast<int64_t>(tried.size()) >= result_.space_size) return "space exhausted";
    if (bound() > 0 && fastest_ <= bound() * kNearBound) return "bound reached";
    const size_t known = result_.today.config == tunable_.default_config ? 1 : 2;
    return result_.trials.size() >= trials() + known ? "trials" : "search converged";
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
    if (resources_.device_is_cpu)
      alternate(searcher, unknown);
    else
      overlap(searcher, unknown);
  }

  // On a CPU device, compiling would slow down what is measured.
  void alternate(Searcher& searcher, const std::vector<Trial>& batch) {
    const size_t some = 2 * static_cast<size_t>(resources_.compile_arena.max_concurrency());
    for (size_t begin = 0; begin < batch.size() && !stopped(); begin += some) {
      std::vector<Candidate> candidates(std::min(some, batch.size() - begin));
      {
        std::lock_guard device(turn_->device_mutex);
        const auto compile_all = [&] {
          const ForkJoin::Task delegated;  // another thread may have taken it over
          parallel_for(0, static_cast<int64_t>(candidates.size()), 1,
                       [&](int64_t from, int64_t to) {
                         for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
                           candidates[i] = compile_unless_stopped(batch[begin + i]);
                       });
        };
        const ForkJoin order;
        resources_.compile_arena.execute(compile_all);
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
      candidates[i] = compile_unless_stopped(batch[i]);
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
      tbb::parallel_pipeline(2 * static_cast<size_t>(resources_.compile_arena.max_concurrency()),
                             chain);
    };
    const ForkJoin order;
    resources_.compile_arena.execute(run_all);
  }

  // ---- the end

  // The fastest candidates against one another and against what is in use, interleaved.
  void final() {
    if (finals_at_ == result_.trials.size()) return;
    std::vector<sched::Config> configs = finalists(result_.trials, incumbent_);
    if (incumbent_seconds() <= 0) {
      if (!configs.empty()) unopposed_ = configs.front();
      return;
    }
    // A log in which nothing was faster needs no device.
    const double most = bench_ ? kHopeless : 1 / kSignificantGain;
    std::erase_if(configs, [&](const sched::Config& config) {
      return measurement_of(result_, config)->seconds > most * incumbent_seconds();
    });
    if (winner_) {  // of an earlier turn: it was in none of the duels since
      std::erase(configs, winner_->config);
      configs.insert(configs.begin(), winner_->config);
      if (configs.size() == 1) return;
    }
    // A kernel whose search was cut off before it found anything is not known to be the fastest.
    if (configs.empty()) {
      compared_ |= over_ && !interrupted();
      return;
    }
    // Finals of logged trials, after an interrupt, would need a device that was not opened.
    if (!bench_ && interrupted()) return;
    open();
    std::map<sched::Config, exec::StandaloneSequence> binaries = {
        {tunable_.default_config, *default_binary_}};
    double seconds = 0;
    const auto binary_of = [&](const sched::Config& config) {
      if (!binaries.count(config)) binaries[config] = compile(config, seconds);
      return binaries.at(config);
    };
    binary_of(incumbent_);
    for (const sched::Config& config : configs) binary_of(config);  // before the device is taken
    std::lock_guard device(turn_->device_mutex);
    const FinalResult played =
        play_finals(*bench_, configs, incumbent_, binary_of, [this] { return in_a_hurry(); });
    finals_at_ = result_.trials.size();
    if (played.duel.won())
      winner_ = played;
    else if (!winner_ && played.duel.valid)
      loser_ = played;
    compared_ |= played.duel.valid;
    if (winner_ || loser_) meet_default(binary_of);
  }

  // The finals say how fast the best config is. A gain over the default needs the default's time of
  // the same minutes, not that of the sweep's begin: the two meet, unless they did so in the
  // finals.
  template <class BinaryOf>
  void meet_default(const BinaryOf& binary_of) {
    const sched::Config& by_default = tunable_.default_config;
    const sched::Config best = winner_ ? winner_->config : incumbent_;
    if (!default_works() || best == by_default || incumbent_ == by_default || interrupted()) return;
    if (against_default_ && against_default_->config == best) return;
    const bool has_met = !winner_ && loser_->config == by_default;
    const DuelResult met =
        has_met ? loser_->duel
                : duel(*bench_, binary_of(best), binary_of(by_default), [] { return true; });
    if (!met.valid) return;
    against_default_ = {best, met};
    if (!met.won()) return;
    // It is the fastest of all, which its trial did not show.
    const DuelResult final = duel(*bench_, binary_of(incumbent_), binary_of(by_default),
                                  [this] { return in_a_hurry(); });
    if (final.won()) winner_ = FinalResult{by_default, final};
  }

  bool default_works() const {
    const Measurement* measured = measurement_of(result_, tunable_.default_config);
    return measured && measured->status == Status::measured;
  }

  // By the duel that the best's time is of; 0: the two have not met.
  double default_seconds_beside_best() const {
    if (result_.best_config == tunable_.default_config) return result_.best_seconds;
    const bool have_met = against_default_ && against_default_->config == result_.best_config;
    return have_met ? result_.best_seconds * against_default_->duel.ratio : 0;
  }

  // 0: it does not work.
  double incumbent_seconds() const {
    return incumbent_ == result_.today.config ? result_.today_seconds : result_.default_seconds;
  }

  std::string policy() const {
    return str(name(options_.search), " search, ", counted(result_.trials.size(), "trial"),
               ", ended: ", result_.ended, "; medians, ",
               resources_.device_is_cpu ? "warm" : "cold", " cache",
               winner_ || loser_ ? ", interleaved finals" : "");
  }

  // Decides which config is used from now on, and whether it is saved.
  void conclude() {
    result_.kept.clear();
    result_.record.reset();
    if (!is_prepared_ || (incumbent_seconds() <= 0 && !unopposed_)) return;
    result_.best_config = unopposed_ ? *unopposed_ : incumbent_;
    Measurement best = *measurement_of(result_, result_.best_config);
    result_.best_seconds = best.seconds;
    if (winner_ || loser_) {
      const DuelResult& duel = winner_ ? winner_->duel : loser_->duel;
      best = winner_ ? duel.challenger : duel.incumbent;
      result_.best_config = winner_ ? winner_->config : incumbent_;
      result_.best_seconds = best.seconds;
      const double incumbent = winner_ ? duel.incumbent_seconds() : duel.incumbent.seconds;
      (incumbent_ == result_.today.config ? result_.today_seconds : result_.default_seconds) =
          incumbent;
      result_.default_seconds =
          incumbent_ == tunable_.default_config ? incumbent : default_seconds_beside_best();
    }
    const bool fails_today = incumbent_ != result_.today.config || unopposed_;
    if (!winner_ && !fails_today) result_.kept = compared_ ? "nothing is faster" : "no finals";
    if (winner_ || compared_ || fails_today)
      result_.record = record_of(tunable_, result_, result_.best_config, best, policy());
  }

  const Tunable& tunable_;
  const SweepResources resources_;
  const TuneOptions& options_;
  const SweepTurn* turn_ = nullptr;  // while there is one
  Clock::time_point start_, search_end_ = Clock::time_point::max();
  double wall_before_ = 0;  // of earlier turns
  bool logging_ = false, is_prepared_ = false, over_ = false;
  std::map<std::pair<sched::Config, Effort>, LoggedTrial> logged_;
  std::unique_ptr<Bench> bench_;
  std::optional<exec::StandaloneSequence> default_binary_;
  double default_compile_seconds_ = 0;
  double trial_seconds_ = 0;  // what compiling and measuring one took
  Measurement baseline_;
  sched::Config incumbent_;     // today's; the default where that does not work
  double fastest_ = kInfinity;  // of full trials
  std::unique_ptr<Searcher> searcher_;
  std::vector<Trial> pending_;  // proposed, and not measured yet
  std::optional<FinalResult> winner_, loser_;
  std::optional<FinalResult> against_default_;  // the best config, and the default as challenger
  std::optional<sched::Config> unopposed_;      // the fastest, where the incumbent does not work
  size_t finals_at_ = 0;                        // so many trials when they were played
  bool compared_ = false;  // today's config was, or nothing is left that it could be compared with
  KernelResult result_;
};

}  // namespace

std::unique_ptr<Sweep> make_sweep(const Tunable& tunable, const SweepResources& resources) {
  return std::make_unique<KernelSweep>(tunable, resources);
}

}  // namespace tcc::autotune
