#include "tools/tune/sweep_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "autotune/measure_again.h"
#include "autotune/plan_search.h"
#include "autotune/plan_sites.h"
#include "autotune/replay.h"
#include "autotune/tune.h"
#include "support/error.h"
#include "support/file.h"
#include "support/parallel.h"
#include "support/plural.h"
#include "tools/open_device.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/tune/live_table.h"
#include "tools/tune/plain_lines.h"
#include "tools/tune/plan_table.h"
#include "tools/tune/rank.h"
#include "tools/tune/record_options.h"
#include "tools/tune/report.h"
#include "tools/tune/shards.h"
#include "tools/tune/summary.h"

namespace tcc::tools {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;
using autotune::TuneResult;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // set by a signal handler

// The first signal ends the search after the running candidates; a second one, half a second later
// or more, ends the program: timeout(1) and job schedulers send the same signal twice at once.
std::atomic<int64_t> first_signal_ms = 0;
static_assert(std::atomic<int64_t>::is_always_lock_free);

void on_signal(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
  if (interrupted && ms - first_signal_ms >= 500) {
    std::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  if (!interrupted) first_signal_ms = ms;
  interrupted = true;
}

void catch_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // A reader of our output that went away must not end a sweep of hours.
  std::signal(SIGPIPE, SIG_IGN);
}

// While it lives, what the library logs stands above the live table instead of in it.
class LogAbove {
 public:
  explicit LogAbove(LiveView& view) {
    log_as_lines("tcc-tune", [&view](const std::string& line) { view.say(line); });
  }
  ~LogAbove() { log_as_lines("tcc-tune"); }
  LogAbove(const LogAbove&) = delete;
  LogAbove& operator=(const LogAbove&) = delete;
};

int replay_main(const SweepOptions& options) {
  if (!options.graphs.graphs.empty() || !options.graphs.kernels.empty())
    fail_input("--replay takes a log alone: no GRAPH, no --kernel");
  if (!fs::exists(options.replay)) fail_input("--replay ", options.replay, ": no such file");
  const autotune::SearchKind kind = parse_search_kind(options.search);
  const autotune::TrialHistory history =
      autotune::read_trial_log(options.replay, log_tuning_warning);
  std::cout << autotune::replay_table(autotune::replay(history, kind),
                                      autotune::replay(history, autotune::SearchKind::random));
  return 0;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, std::vector<std::pair<std::string, std::string>> given)
      : options_(options),
        given_(std::move(given)),
        out_(options.json ? std::cerr : std::cout),
        shard_(find_shard(options.shard, [](const char* name) { return std::getenv(name); })) {}

  int run() {
    tune_.search = parse_search_kind(options_.search);
    const fs::path report = shard_file(shard_, options_.report);
    if (options_.plan_search) check_plan_search();
    choose_devices();
    if (alone_) return rank();
    const fs::path folder = shard_folder(shard_, options_.output);
    autotune::prepare_record_folder(folder);
    check_can_write("--report", report);  // in that folder, perhaps
    check_can_write("--log", options_.log);
    tune_.log = options_.log.empty() ? folder / "trials.jsonl" : shard_file(shard_, options_.log);
    plans_ = autotune::load_plans(paths_in_use(folder), log_tuning_warning);
    records_ = autotune::load_records(paths_in_use(folder), log_tuning_warning);
    tune_.compile.plan = &plans_;
    tune_.in_use = &records_;
    tune_.compile.cache = options_.no_cache ? nullptr : &cache_;
    set_tune_options();
    if (options_.plan_search) return compare_plans(folder);
    collect_kernels();
    catch_signals();
    const TuneResult result = tune();
    out_ << summary_text(result, batches_)
         << left_out_text(result, kernels_.size(), tune_.budget_seconds);
    std::cerr << rejected_text(result);
    SweepReport about{report_title(), nullptr, given_, batches_, {}};
    if (!result.records.records().empty())
      for (const fs::path& path : autotune::save_records(result.records, folder)) {
        out_ << "wrote " << path.string() << "\n";
        about.files.push_back(path.string());
      }
    const auto device = report.empty() && !options_.json ? nullptr : reopened();
    about.device = device.get();
    if (!report.empty()) {
      write_file_atomic(report, report_page(result, about));
      out_ << "wrote " << report.string() << "\n";
    }
    if (options_.json) std::cout << report_json(result, about, false) << "\n";
    return exit_code(result);
  }

 private:
  // For the report's head; null where it was lost.
  std::shared_ptr<runtime::Device> reopened() const {
    try {
      return runtime::open_device(devices_.front());
    } catch (const Error& error) {
      log_tuning_warning(error.what());
      return nullptr;
    }
  }

  // Devices are opened here only to learn what they are: measuring is the workers' work.
  void choose_devices() {
    std::set<std::string> names;
    for (const std::string& asked : shard_devices(shard_, options_.devices)) {
      const auto device = open_device("tcc-tune", asked);
      if (devices_.empty()) target_ = device->target();
      if (device->compiles_alone()) alone_ = device;
      if (device->target().id() != target_.id())
        fail_input("--device ", asked, ": is ", device->target().id(), ", but ", devices_[0],
                   " is ", target_.id(), "; devices must be of one kind");
      if (!names.insert(device->name()).second) fail_input("--device ", asked, ": given twice");
      devices_.push_back(device->name());
    }
  }

  void check_plan_search() const {
    if (!options_.graphs.kernels.empty())
      fail_input("--plan-search: takes graphs alone, no --kernel");
    if (!options_.report.empty()) fail_input("--plan-search: has no page to --report");
    if (options_.json) fail_input("--plan-search: has no --json");
  }

  // On a device whose driver compiles alone. Nothing is measured, and nothing is recorded.
  int rank() {
    if (devices_.size() > 1)
      fail_input("--device ", alone_->name(), ": compiles alone, and is named alone");
    if (options_.plan_search || !options_.report.empty())
      fail_input("--device ", alone_->name(),
                 ": compiles alone: there is nothing to --plan-search or to --report");
    tune_.compile.cache = options_.no_cache ? nullptr : &cache_;
    collect_kernels();
    out_ << "nothing is measured: configs are ranked by estimates, of the cost models where there "
            "are any, those that spill registers last\n";
    JsonWriter json(JsonWriter::Style::indented);
    begin_report(json, "ranking");
    json.member("target", target_.id())
        .member("device", target_.device)
        .member("driver", target_.driver)
        .member("measured", false)
        .key("kernels")
        .begin_array();
    const auto most = static_cast<size_t>(std::max<int64_t>(2, options_.trials));
    for (const autotune::Tunable& kernel : kernels_) {
      const RankedKernel ranked = rank_configs(kernel, *alone_, most);
      print_ranking(out_, ranked);
      add_ranking(json, ranked);
    }
    json.end_array().end_object();
    if (options_.json) std::cout << json.text() << "\n";
    return 0;
  }

  // The records beside the default folders as programs will use them once this sweep is saved: of
  // all shards, once they were merged, then of this one.
  std::vector<fs::path> paths_in_use(const fs::path& folder) const {
    std::vector<fs::path> paths(options_.tuning.begin(), options_.tuning.end());
    if (!shard_.alone()) paths.emplace_back(options_.output);
    paths.push_back(folder);
    return paths;
  }

  // The kernels of every plan on the way are tuned like those of any sweep.
  int compare_plans(const fs::path& folder) {
    catch_signals();
    tune_.warn = log_tuning_warning;
    autotune::PlanSearchOptions search;
    search.launch_seconds = autotune::launch_seconds(target_);
    search.known = &records_;
    search.in_use = &plans_;
    search.interrupted = &interrupted;
    if (!shard_.alone()) {
      search.is_part = [&](const sched::PlanSite& site) {
        return autotune::in_shard(site, shard_.index, shard_.count);
      };
    }
    if (options_.budget_seconds > 0)
      search.deadline = autotune::deadline_after(options_.budget_seconds);
    bool any_failure = false;
    search.compared = [](const auto& comparison) { std::cout << comparison_text(comparison); };
    const auto schedule = [&](const sched::PlanSource& plan) {
      backends::CompileOptions compile = tune_.compile;
      compile.plan = &plan;
      return schedule_graphs(options_.graphs, target_, compile);
    };
    const auto tune = [&](std::span<const autotune::TuningTask> tasks, Clock::time_point deadline) {
      PlainLines lines(std::cout, tasks.size());
      tune_.events = lines.events();
      if (deadline != Clock::time_point::max()) {
        const std::chrono::duration<double> left = deadline - Clock::now();
        tune_.budget_seconds = std::max(left.count(), 1e-3);
      }
      const TuneResult result = autotune::tune_tasks(tasks, target_, devices_, tune_);
      std::cerr << rejected_text(result);
      any_failure |= print_failures(result) != 0;
      return autotune::TunedKernels{result.records, left_out(tasks, result)};
    };
    const auto confirm = [&](std::span<const autotune::TuningTask> tasks,
                             const autotune::RecordStore& records) {
      return autotune::measure_again(tasks, records, target_, devices_.front(), tune_);
    };
    const auto result = autotune::search_plans(schedule, tune, confirm, target_, search);
    std::cout << plan_table(result);
    std::vector<fs::path> files;
    if (!result.kernels.records().empty()) files = autotune::save_records(result.kernels, folder);
    for (const fs::path& path : autotune::save_plans(result.plans, folder)) files.push_back(path);
    for (const fs::path& path : files) std::cout << "wrote " << path.string() << "\n";
    if (interrupted) return 128 + SIGINT;
    // Kernels of today's plan that only the budget left out are no failure.
    const bool is_good =
        result.today_seconds > 0 || ((result.is_part || result.out_of_time) && !any_failure);
    return is_good ? 0 : static_cast<int>(ErrorKind::device);
  }

  // The tasks that ended without a record, and with nothing wrong.
  static std::set<autotune::RecordKey> left_out(std::span<const autotune::TuningTask> tasks,
                                                const TuneResult& result) {
    std::set<autotune::RecordKey> keys;
    for (const autotune::TuningTask& task : tasks) keys.insert(task.key);
    for (const autotune::KernelResult& kernel : result.kernels)
      if (kernel.record || !failure(kernel).empty()) keys.erase(kernel.task.key);
    return keys;
  }

  void collect_kernels() {
    DimLists dims(options_.graphs.dims);
    std::vector<std::string> labels;
    graphs_ = schedule_graphs(options_.graphs, dims, target_, tune_.compile, &labels);
    std::vector<autotune::Tunable> all;
    for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs_))
      all.push_back(autotune::tunable_of(task, tune_.compile));
    for (autotune::Tunable& kernel :
         user_tunables(options_.graphs, dims, target_, tune_.compile, &labels))
      all.push_back(std::move(kernel));
    dims.check_all_used();
    collect_batches(labels, all);
    for (autotune::Tunable& kernel : all)
      if (autotune::in_shard(kernel.key, shard_.index, shard_.count))
        kernels_.push_back(std::move(kernel));
    announce(all.size());
  }

  // In the labels' order: the graphs, then the user's kernels, which come last of all.
  void collect_batches(const std::vector<std::string>& labels,
                       const std::vector<autotune::Tunable>& all) {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (i < graphs_.size())
        for (Batch& batch : batches_of(graphs_[i], labels[i])) batches_.push_back(std::move(batch));
      else
        batches_.push_back({labels[i], {{all[all.size() - (labels.size() - i)].key, 1}}});
    }
  }

  void announce(size_t kernels) const {
    std::string devices;
    for (const std::string& device : devices_) devices += (devices.empty() ? "" : ", ") + device;
    out_ << devices << " (" << target_.device << "): " << counted(kernels, "kernel");
    if (!shard_.alone())
      out_ << "; shard " << shard_.index << " of " << shard_.count << " (" << shard_.source
           << "): " << kernels_.size();
    out_ << "\n";
    // Sizes that stand for the ranges of kernels with open dims.
    std::map<std::string, std::string> sizes;  // by kernel
    for (const autotune::Tunable& kernel : kernels_)
      if (!kernel.sizes.empty())
        sizes[str(kernel.name, " [", kernel.key.kernel_template, "] ", kernel.family)] +=
            ", " + kernel.sizes;
    for (const auto& [kernel, of_kernel] : sizes)
      out_ << kernel.substr(0, kernel.rfind(' ')) << ": measured at " << of_kernel.substr(2)
           << "\n";
    out_ << std::flush;
  }

  void set_tune_options() {
    tune_.trials = static_cast<size_t>(options_.trials);
    tune_.budget_seconds = options_.budget_seconds;
    tune_.jobs = options_.jobs;
    tune_.seed = options_.seed;
    tune_.resume = options_.resume;
    tune_.interrupted = &interrupted;
  }

  TuneResult tune() {
    SweepSetup setup;
    setup.kernels = kernels_.size();
    setup.trials = tune_.trials;
    setup.budget_seconds = tune_.budget_seconds;
    setup.compile_threads =
        options_.jobs > 0 ? std::min(options_.jobs, parallelism()) : parallelism();
    setup.several_devices = devices_.size() > 1;
    setup.one_batch = batches_.size() == 1 && std::ranges::all_of(kernels_, [](const auto& kernel) {
                        return kernel.sizes.empty();
                      });
    setup.interrupted = &interrupted;
    if (LiveLines::possible()) {
      LiveView view(setup);
      tune_.events = view.events();
      const LogAbove above(view);
      return autotune::tune_tunables(kernels_, target_.is_cpu, devices_, tune_);
    }
    PlainLines lines(out_, kernels_.size());
    tune_.events = lines.events();
    return autotune::tune_tunables(kernels_, target_.is_cpu, devices_, tune_);
  }

  std::string report_title() const {
    std::string title;
    for (const auto& files : {options_.graphs.graphs, options_.graphs.kernels})
      for (const std::string& file : files)
        title += (title.empty() ? "" : ", ") + fs::path(file).filename().string();
    return shard_.alone() ? title : title + ", " + shard_.name();
  }

  int exit_code(const TuneResult& result) const {
    if (result.interrupted) {
      std::cerr << "tcc-tune: interrupted after " << result.kernels.size() << " of "
                << counted(kernels_.size(), "kernel") << "; --resume goes on\n";
      return 128 + SIGINT;
    }
    return print_failures(result);
  }

  // Returns the exit code: 0 without failures, 1 where all of them are wrong results.
  static int print_failures(const TuneResult& result) {
    int code = 0;
    for (const autotune::KernelResult& kernel : result.kernels) {
      const std::string reason = failure(kernel);
      if (reason.empty()) continue;
      code = std::max(code, is_wrong(kernel) ? 1 : static_cast<int>(ErrorKind::device));
      std::cerr << printable(str("tcc-tune: ", kernel.task.name, " ", kernel.output, ": ", reason))
                << "\n";
    }
    return code;
  }

  const SweepOptions& options_;
  const std::vector<std::pair<std::string, std::string>> given_;
  std::ostream& out_;  // of what is for people
  const Shard shard_;
  autotune::TuneOptions tune_;
  backends::KernelCache cache_;
  autotune::PlanStore plans_;      // what compilations use, and so what is tuned
  autotune::RecordStore records_;  // what they use, too: to be beaten
  std::vector<std::string> devices_;
  sched::Target target_;
  std::shared_ptr<runtime::Device> alone_;  // a device that compiles and runs nothing
  std::vector<backends::Scheduled> graphs_;
  std::vector<autotune::Tunable> kernels_;
  std::vector<Batch> batches_;
};

}  // namespace

int sweep_main(const SweepOptions& options,
               const std::vector<std::pair<std::string, std::string>>& given) {
  if (!options.replay.empty()) return replay_main(options);
  check_any_named(options.graphs);
  return Sweep(options, given).run();
}

}  // namespace tcc::tools
