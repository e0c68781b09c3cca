#include "tools/tune/verify.h"

#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>

#include "autotune/plan_records.h"
#include "autotune/tunable.h"
#include "autotune/tune.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/summary.h"

namespace tcc::tools {
namespace {

using autotune::Measurement;
using autotune::Record;
using autotune::Tunable;
using Status = Measurement::Status;

struct VerifyOptions {
  GraphOptions graphs;
  std::string device = "auto";
  std::vector<std::string> tuning;
  double threshold_percent = 5;
  uint64_t seed = 0;
};

bool fails(const Measurement& measurement) {
  return measurement.status != Status::measured && measurement.status != Status::slow;
}

bool beats(const Verified::Pair& pair, double threshold) {
  const auto& [incumbent, rival] = pair;
  if (fails(rival) || fails(incumbent)) return false;
  return rival.seconds * (1 + threshold) < incumbent.seconds && rival.high < incumbent.low;
}

// "+3.1%".
std::string drift_text(double now, double recorded) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f%%", 100 * (now / recorded - 1));
  return text;
}

std::string rival_text(const std::optional<Verified::Pair>& pair) {
  if (!pair) return "-";
  if (fails(pair->second)) return std::string(autotune::name(pair->second.status));
  return time_text(pair->second.seconds) + " (" +
         gain_text(pair->second.seconds / pair->first.seconds) + ")";
}

class Verify {
 public:
  explicit Verify(const VerifyOptions& options) : options_(options) {}

  int run() {
    check_any_named(options_.graphs);
    const auto device = runtime::open_device(options_.device);
    const std::string name = device->name();
    const sched::Target target = device->target();
    const autotune::RecordStore store = autotune::load_records(
        {options_.tuning.begin(), options_.tuning.end()},
        [](const std::string& text) { std::cerr << "tcc-tune: warning: " << text << "\n"; });
    const autotune::PlanStore plans = autotune::load_plans(
        {options_.tuning.begin(), options_.tuning.end()},
        [](const std::string& text) { std::cerr << "tcc-tune: warning: " << text << "\n"; });
    compile_.cache = &cache_;
    compile_.plan = &plans;
    DimLists dims(options_.graphs.dims);
    const auto graphs = schedule_graphs(options_.graphs, dims, target, compile_);
    const auto own = user_tunables(options_.graphs, dims, target, compile_);
    dims.check_all_used();
    pool_ = autotune::make_worker_pool(name);
    size_t missing = 0;
    const auto record_of = [&](const autotune::RecordKey& key) {
      const auto found = store.records().find(key);
      missing += found == store.records().end();
      return found == store.records().end() ? nullptr : &found->second;
    };
    for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs, target))
      if (const Record* record = record_of(task.key))
        add_row(autotune::tunable_of(task, target, compile_), *record);
    for (const Tunable& kernel : own)
      if (const Record* record = record_of(kernel.key)) add_row(kernel, *record);
    if (!rows_.empty())
      std::cout << format_table(
          {"kernel", "output", "recorded", "now", "drift", "default", "runner-up", "verdict"},
          rows_);
    std::cout << name << ": " << counted(rows_.size(), "record") << " verified, " << regressions_
              << " to be tuned again; " << counted(missing, "kernel")
              << (missing == 1 ? " has" : " have") << " no record\n";
    if (rows_.empty()) {
      std::cerr << "tcc-tune: nothing was verified: none of the kernels has a record for "
                << target.id() << "\n";
      return static_cast<int>(ErrorKind::check_failed);
    }
    return regressions_ > 0 ? static_cast<int>(ErrorKind::check_failed) : 0;
  }

 private:
  void add_row(const Tunable& tunable, const Record& record) {
    const Verified verified = verify(tunable, record);
    const std::string reason = regression(verified, options_.threshold_percent / 100);
    const double now = verified.against_default ? verified.against_default->first.seconds
                                                : verified.incumbent.seconds;
    rows_.push_back({tunable.name, tunable.output, time_text(record.seconds), time_text(now),
                     now > 0 ? drift_text(now, record.seconds) : "-",
                     rival_text(verified.against_default), rival_text(verified.against_runner_up),
                     reason.empty() ? "ok" : reason});
    regressions_ += !reason.empty();
  }

  Verified verify(const Tunable& tunable, const Record& record) {
    Verified verified;
    verified.incumbent.reason = tunable.space.violation(record.best);
    if (!verified.incumbent.reason.empty()) return verified;  // refused
    const auto bench = pool_->bench(tunable.job(options_.seed));
    const sched::KernelBinary standard = tunable.compile(tunable.default_config);
    verified.incumbent = bench->baseline(tunable.expected ? tunable.expected() : standard);
    if (fails(verified.incumbent)) {
      verified.incumbent.reason =
          str(tunable.expected ? "what checks it: " : "the default config: ",
              verified.incumbent.reason);
      return verified;
    }
    const bool is_default = record.best == tunable.default_config;
    const sched::KernelBinary incumbent = is_default ? standard : tunable.compile(record.best);
    if (!is_default || tunable.expected) {
      verified.incumbent = measure(*bench, incumbent);
      if (fails(verified.incumbent)) return verified;
    }
    if (!is_default) verified.against_default = bench->duel(incumbent, standard);
    for (const autotune::RunnerUp& rival : record.runners_up) {
      if (rival.config == tunable.default_config || !tunable.space.violation(rival.config).empty())
        continue;
      const sched::KernelBinary kernel = tunable.compile(rival.config);
      if (!fails(measure(*bench, kernel)))
        verified.against_runner_up = bench->duel(incumbent, kernel);
      break;
    }
    return verified;
  }

  static Measurement measure(autotune::Bench& bench, const sched::KernelBinary& kernel) {
    return bench.measure(kernel, autotune::Effort::full, std::numeric_limits<double>::infinity());
  }

  const VerifyOptions& options_;
  backends::KernelCache cache_;
  backends::CompileOptions compile_;
  std::unique_ptr<autotune::WorkerPool> pool_;
  std::vector<std::vector<std::string>> rows_;
  int regressions_ = 0;
};

}  // namespace

std::string regression(const Verified& verified, double threshold) {
  if (fails(verified.incumbent))
    return str(autotune::name(verified.incumbent.status), ": ", verified.incumbent.reason);
  if (verified.against_default && beats(*verified.against_default, threshold))
    return "slower than the default";
  if (verified.against_runner_up && beats(*verified.against_runner_up, threshold))
    return "slower than the runner-up";
  return "";
}

Command add_verify(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("verify",
                             "Measures the records of kernels again, beside default and runner-up; "
                             "exits 1 when one is slower, or when there is none");
  auto options = std::make_shared<VerifyOptions>();
  add_graph_options(*app, options->graphs);
  app->add_option("--device", options->device, "auto, cuda:N or vulkan:N")->capture_default_str();
  app->add_option("--tuning", options->tuning, "folder or file of tuning records; several")
      ->allow_extra_args(false);
  app->add_option("--threshold", options->threshold_percent,
                  "how much faster another config must be, in percent")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1000.0));
  app->add_option("--seed", options->seed, "of the data")->capture_default_str();
  return {app, [options] { return Verify(*options).run(); }};
}

}  // namespace tcc::tools
