#include "tools/track/run.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <optional>

#include "support/error.h"
#include "support/plural.h"
#include "support/version.h"
#include "tools/program.h"
#include "tools/run_info.h"
#include "tools/track/case_worker.h"
#include "tools/track/git.h"
#include "tools/track/judge.h"
#include "tools/track/measure.h"
#include "tools/track/read_runs.h"
#include "tools/track/report_options.h"
#include "tools/track/report_text.h"
#include "tools/track/rules.h"
#include "tools/track/runner.h"
#include "tools/track/told.h"

namespace tcc::tools {
namespace {

struct RunCommandOptions {
  std::vector<std::string> suites, filters, labels;
  std::string store, commit, host;
  CaseSetup setup;
  double limit = 3600;
  bool judge = false, replace = false;
  JudgeOptions judging;
  ReportOptions reports;
};

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "unknown";
}

std::string share(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::map<std::string, std::string> labels_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      fail_input("--label ", text, ": is not KEY=VALUE");
    labels[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return labels;
}

class RunCommand {
 public:
  explicit RunCommand(const RunCommandOptions& options)
      : options_(checked(options)),
        cases_(read_suites(options.suites, options.filters)),
        store_(open_store(options.store, say)) {
    const bool only_commands = std::all_of(cases_.begin(), cases_.end(), [](const TrackCase& one) {
      return one.kind == TrackCase::Kind::command;
    });
    const CaseSetup& setup = options.setup;
    if (setup.target.empty() && setup.instructions)
      fail_input("--instructions: of --target; a device's kernels are counted anyway");
    if (!setup.target.empty() && setup.check) fail_input("--check: nothing runs with --target");
    if (!setup.target.empty() || !only_commands) worker_.emplace(setup, options.limit, say);
    make_header();
  }

  int run() {
    const OnInterrupt on_interrupt;
    const auto writer = store_->begin(header_.name);
    Told told;
    RunSteps steps;
    steps.cancelled = [] { return OnInterrupt::came(); };
    steps.measure = [&](const TrackCase& one) -> std::vector<TrackedCase> {
      if (one.kind == TrackCase::Kind::command) return measure_command(one, steps.cancelled);
      return {worker_->measure(one)};
    };
    if (worker_ && options_.setup.target.empty())
      steps.device_works = [&] { return worker_->device_works(); };
    steps.progress = [&](size_t done, size_t all, const std::string& next) {
      told.tell(str("measured ", done, " of ", counted(all, "case"), "; now ", printable(next)));
    };
    const RunResult result = run_cases(header_, cases_, steps, *writer);
    told.end();
    if (!prints_report(options_.reports)) print(result);
    const bool passes = report();
    if (options_.replace && result.end == "complete" && result.failed == 0) remove_older();
    if (result.end == "device lost") return static_cast<int>(ErrorKind::device);
    return result.failed + result.over_budget > 0 || result.end != "complete" || !passes ? 1 : 0;
  }

 private:
  static void say(const std::string& text) { std::cerr << printable(text) << "\n"; }

  static const RunCommandOptions& checked(const RunCommandOptions& options) {
    check_report_options(options.reports);
    return options;
  }

  void make_header() {
    const UtcTime now = utc_time();
    header_.date = now.date;
    header_.milliseconds = now.milliseconds;
    header_.host = options_.host.empty() ? host_name() : options_.host;
    const GitCommit commit =
        options_.commit.empty() ? commit_of(".") : commit_named(".", options_.commit);
    header_.commit = commit.commit;
    header_.commit_date = commit.date;
    header_.version = build_version();
    header_.tcc_commit = build_commit();
    if (worker_) worker_->describe(header_);
    header_.command = command_words();
    header_.suites = options_.suites;
    header_.labels = labels_of(options_.labels);
    header_.planned = cases_.size();
    header_.name = new_run_name(header_);
  }

  // Against the runs before, where that is asked for. A run of which nothing was stored has none.
  bool report() const {
    JudgeChoices choices = options_.judging.choices();
    choices.with_history = options_.judge;
    if (!options_.judge && !writes_report(options_.reports)) return true;
    const TrackReport report = judge_stored(*store_, header_.name, choices);
    if (options_.judge && !prints_report(options_.reports)) std::cout << judge_table(report);
    write_reports(report, options_.reports);
    return report.passes();
  }

  // A baseline is one run of each machine.
  void remove_older() const {
    Damage damage;
    std::vector<std::string> older;
    ReadOptions options;
    options.runs = [&](const TrackedRun& run) { return run.machine() == header_.machine(); };
    read_runs(*store_, options, damage, [&](StoredRun&& run) {
      if (run.run.name != header_.name) older.push_back(run.run.name);
    });
    for (const std::string& name : older) store_->remove(name);
  }

  void print(const RunResult& result) const {
    std::vector<std::vector<std::string>> rows;
    for (const TrackedCase& one : result.cases) {
      const auto amount = [&](const char* quantity) -> std::string {
        const auto found = one.quantities.find(quantity);
        if (found == one.quantities.end()) return "-";
        const Rule rule = rule_of(quantity);
        if (rule.kind == Rule::Kind::factor && rule.unit.empty()) return share(found->second.value);
        return value_text(found->second.value, std::string(rule.unit));
      };
      std::string standing(name(one.status));
      if (!one.reason.empty()) standing += ": " + one.reason;
      for (const std::string& over : over_budget(one)) standing += "; over budget: " + over;
      rows.push_back({printable(one.name), amount("time"), amount("compile time"),
                      amount("launches"), amount("arena bytes"), amount("error"),
                      printable(standing)});
    }
    std::cout << format_table({"case", "time", "compile", "launches", "arena", "error", ""}, rows);
    std::cout << store_->file_of(header_.name) << ": " << result.end << ", "
              << counted(result.cases.size(), "case") << ", " << result.failed << " failed, "
              << result.over_budget << " over budget\n";
  }

  const RunCommandOptions& options_;
  std::vector<TrackCase> cases_;
  std::unique_ptr<Store> store_;
  std::optional<CaseWorker> worker_;
  TrackedRun header_;
};

}  // namespace

Command add_run(CLI::App& program) {
  auto options = std::make_shared<RunCommandOptions>();
  CLI::App* app =
      program.add_subcommand("run", "Measures the cases of suites, and adds the run to a store.");
  app->add_option("SUITE", options->suites, "suites of cases, .yaml")
      ->required()
      ->check(CLI::ExistingFile);
  app->add_option("--store", options->store,
                  "a folder, or a branch: git:BRANCH, git:REPOSITORY#BRANCH")
      ->required();
  app->add_option("--device", options->setup.device, "cuda:N, vulkan:N, null or auto")
      ->capture_default_str();
  app->add_option("--target", options->setup.target,
                  "generate kernels for a target (cuda:sm_90a, vulkan) and count: no device, no "
                  "compiler, no times");
  app->add_flag("--instructions", options->setup.instructions,
                "compile the kernels of --target vulkan, too, and count their instructions");
  app->add_option("--limit", options->limit,
                  "seconds that one case may take; a case that takes longer fails")
      ->check(number_in(0.1, 1e6))
      ->capture_default_str();
  app->add_option("--filter", options->filters, "cases whose name holds one of these words")
      ->allow_extra_args(false);
  app->add_option("--tuning", options->setup.tuning, "files and folders of tuning records; several")
      ->allow_extra_args(false);
  app->add_option("--blocks", options->setup.blocks, "fresh contexts that a case is measured on")
      ->check(number_in(1, 1000))
      ->capture_default_str();
  app->add_option("--seconds", options->setup.seconds, "of a case's blocks, from the fourth on")
      ->check(number_in(0.0, 86400.0))
      ->capture_default_str();
  app->add_flag("--warm", options->setup.warm,
                "take kernels from the disk cache: compile times are then no cold ones");
  app->add_flag("--check", options->setup.check,
                "hold results against the reference, of cases with up to 1e9 operations and bytes");
  app->add_option("--commit", options->commit,
                  "the commit that is measured (default: what this folder stands at)");
  app->add_option("--host", options->host,
                  "the machine's name (default: the host's); only runs of one are compared");
  app->add_option("--label", options->labels, "KEY=VALUE, kept with the run; several")
      ->allow_extra_args(false);
  app->add_flag("--replace", options->replace,
                "a folder's earlier runs on this machine are removed when all cases ran: it keeps "
                "a baseline");
  app->add_flag("--judge", options->judge,
                "judge the run by the runs before it, as tcc-track judge does");
  add_judge_options(*app, options->judging);
  add_report_options(*app, options->reports);
  return {app, [options] { return RunCommand(*options).run(); }};
}

}  // namespace tcc::tools
