#include "tcc/tuner.hpp"

#include <chrono>
#include <thread>

#include "api/impl.h"
#include "api/options.h"
#include "autotune/tune.h"
#include "support/log.h"
#include "support/plural.h"

namespace tcc {
namespace {

using autotune::KernelResult;
using Status = autotune::Measurement::Status;

TunedKernel report_of(const KernelResult& kernel) {
  TunedKernel report;
  report.region = kernel.task.name;
  report.kernel_template = kernel.task.key.kernel_template;
  report.output = kernel.output;
  if (kernel.best_seconds > 0) report.best_config = kernel.best_config.to_string();
  report.default_seconds = kernel.default_seconds;
  report.today_seconds = kernel.today_seconds;
  report.best_seconds = kernel.best_seconds;
  report.kept = kernel.kept;
  report.launches = kernel.launches;
  report.space_size = kernel.space_size;
  report.trials = static_cast<std::int64_t>(kernel.trials.size());
  for (const Status status : {Status::wrong, Status::refused, Status::hung, Status::crashed})
    report.rejected += static_cast<std::int64_t>(kernel.count(status));
  report.error = kernel.error;
  return report;
}

// Asks the caller whether to end: beside the tuning, and after each trial.
class CancelPoll {
 public:
  explicit CancelPoll(const TuneOptions& options) : options_(options) {
    if (!options.compile.cancelled) return;
    thread_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested() && !ended_; ask())
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
  }
  void ask() {
    if (options_.compile.cancelled && options_.compile.cancelled()) ended_ = true;
    if (options_.interrupted && *options_.interrupted) ended_ = true;
  }
  const std::atomic<bool>& ended() const { return ended_; }

 private:
  const TuneOptions& options_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace

TuneReport tune(const Graph& graph, std::string_view device, const TuneOptions& options) {
  autotune::TuneOptions inner;
  const auto search = autotune::search_kind(options.search);
  if (!search)
    fail_input("search '", options.search,
               "': must be auto, exhaustive, random, staged or evolutionary");
  inner.search = *search;
  inner.trials = options.trials;
  inner.budget_seconds = options.budget_seconds;
  inner.jobs = options.jobs;
  inner.seed = options.seed;
  inner.workers = options.isolate;
  inner.log = options.log;
  inner.resume = options.resume;
  inner.interrupted = options.interrupted;
  if (!options.compile.open_dims.empty())
    fail_input("open_dims: kernels are tuned for sizes that are numbers");
  set_kernel_options(options.compile, inner.compile);
  backends::KernelCache cache(cache_folder(options.compile));
  inner.compile.cache = &cache;
  CancelPoll poll(options);
  poll.ask();
  if (options.compile.cancelled) inner.interrupted = &poll.ended();
  inner.warn = options.compile.warn;
  if (!inner.warn)
    inner.warn = [](const std::string& warning) { log_warning(LogChannel::tuning, warning); };
  inner.events.finished = [](const KernelResult& kernel) {
    log_parts(LogLevel::info, LogChannel::tuning, kernel.task.name, " ", kernel.output, ": ",
              kernel.error.empty() ? kernel.best_config.to_string() : kernel.error, ", ",
              counted(kernel.trials.size(), "trial"));
  };
  inner.events.trial = [&](const KernelResult& kernel) {
    if (options.progress) options.progress(report_of(kernel));
    poll.ask();
  };
  std::vector<std::filesystem::path> paths = options.compile.tuning;
  if (!options.output.empty()) {
    autotune::prepare_record_folder(options.output);
    paths.push_back(options.output);
  }
  const autotune::RecordStore in_use = autotune::load_records(paths, inner.warn);
  const autotune::PlanStore plans = autotune::load_plans(paths, inner.warn);
  inner.in_use = &in_use;
  inner.compile.plan = &plans;

  const autotune::TuneResult result =
      autotune::tune(graph.impl().graph, std::string(device), inner);
  TuneReport report;
  for (const KernelResult& kernel : result.kernels) report.kernels.push_back(report_of(kernel));
  if (!options.output.empty() && !result.records.records().empty())
    report.written = autotune::save_records(result.records, options.output);
  report.seconds = result.wall_seconds;
  report.interrupted = result.interrupted;
  return report;
}

}  // namespace tcc
