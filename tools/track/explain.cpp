#include "tools/track/explain.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "backends/compile/process.h"
#include "support/error.h"
#include "support/file.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/comparing.h"
#include "tools/track/git.h"
#include "tools/track/history_data.h"
#include "tools/track/read_runs.h"
#include "tools/track/report_text.h"
#include "tools/track/rules.h"
#include "tools/track/work.h"

namespace tcc::tools {
namespace {

struct ExplainCommandOptions {
  std::string name, store, base, head;
  CompareChoices choices;
  size_t lines = 60;
};

std::string diff_of(const std::string& base, const std::string& head, size_t most_lines) {
  const backends::TemporaryFolder folder;
  write_file_atomic(folder.path() / "base", base);
  write_file_atomic(folder.path() / "head", head);
  const auto result =
      backends::run_process({"diff", "-u", "--label", "base", "--label", "head",
                             (folder.path() / "base").string(), (folder.path() / "head").string()},
                            {.timeout = std::chrono::seconds(60)});
  std::string text;
  size_t lines = 0, at = 0;
  while (at < result.output.size() && lines < most_lines) {
    const size_t end = std::min(result.output.find('\n', at), result.output.size());
    text += "    " + printable(result.output.substr(at, end - at)) + "\n";
    at = end + 1;
    ++lines;
  }
  const auto left =
      std::count(result.output.begin() + static_cast<long>(std::min(at, result.output.size())),
                 result.output.end(), '\n');
  if (left > 0) text += str("    ... ", left, " more lines (--lines)\n");
  return text;
}

// Prints the sources of kernels that do the same work in both from different text.
void print_diffs(const Duels::Case& one, const ReportedCase& reported, size_t most_lines) {
  for (const KernelPair& pair : paired(reported.base_kernels, reported.head_kernels)) {
    if (!pair.base || !pair.head || pair.base->source == pair.head->source) continue;
    const auto k = static_cast<size_t>(pair.base - reported.base_kernels.data());
    const auto i = static_cast<size_t>(pair.head - reported.head_kernels.data());
    if (k >= one.base.sources.size() || i >= one.head.sources.size()) {
      std::cout << "\na library is too old to give its kernels' sources\n";
      return;
    }
    std::cout << "\nsource of " << printable(pair.head->region) << ":\n"
              << diff_of(one.base.sources[k], one.head.sources[i], most_lines);
  }
}

int explain_libraries(const ExplainCommandOptions& options) {
  ComparedCases cases = cases_of(options.choices);
  std::set<std::string> names;
  for (const TrackCase& one : cases.graphs) names.insert(one.name);
  std::erase_if(cases.graphs, [&](const TrackCase& one) { return one.name != options.name; });
  if (cases.graphs.empty())
    fail_input("no suite has a case '", options.name, "'; ", known_names(options.name, names));
  Comparing comparing(options.choices, cases, options.base, options.head);
  comparing.run();
  comparing.time_kernels(0);
  const TrackReport report = comparing.report();
  const ReportedCase& one = report.cases[0];
  std::cout << compare_table(report);
  std::cout << "\n" << kernel_table(one.base_kernels, one.head_kernels);
  print_diffs(comparing.duels().cases()[0], one, options.lines);
  return 0;
}

// The run of this name, or the newest of a commit: of the commit itself before its work tree with
// changes. Revisions are those of the repository that this process stands in.
size_t find_run(const std::vector<StoredRun>& runs, const std::string& wanted,
                const std::string& store) {
  for (const std::string& commit : {wanted, commit_named(".", wanted).commit})
    for (const bool dirty : {false, true})
      for (size_t i = runs.size(); i-- > 0;) {
        const TrackedRun& run = runs[i].run;
        if (run.name == wanted || (run.commit.starts_with(commit) && is_dirty(run.commit) == dirty))
          return i;
      }
  fail_input(store, ": no run '", wanted,
             "' with the case; a run's name, a commit's first digits or a revision of git");
}

int explain_runs(const ExplainCommandOptions& options) {
  const auto store = open_store(options.store);
  std::vector<StoredRun> runs;
  Damage damage;
  const auto is_asked_for = [&](const std::string& name) { return name == options.name; };
  read_runs(*store, {.details = true, .cases = is_asked_for}, damage, [&](StoredRun&& run) {
    if (!run.cases.empty()) runs.push_back(std::move(run));
  });
  if (damage.any()) std::cerr << damage.summary() << "\n";
  if (runs.empty())
    fail_input(options.store, ": has no case '", options.name, "'; ",
               known_names(options.name, case_names(*store)));
  if (runs.size() < 2)
    fail_input(options.store, ": ", runs.size(), " runs have a case '", options.name,
               "'; two are compared");
  const size_t head =
      options.head.empty() ? runs.size() - 1 : find_run(runs, options.head, options.store);
  size_t base = 0;
  if (!options.base.empty()) {
    base = find_run(runs, options.base, options.store);
  } else {
    // The one before, of the same machine.
    base = head;
    for (size_t i = head; i-- > 0 && base == head;)
      if (runs[i].run.machine() == runs[head].run.machine()) base = i;
    if (base == head)
      fail_input(options.store, ": no run of this machine before ", runs[head].run.name);
  }
  const TrackedCase &before = runs[base].cases[0], &after = runs[head].cases[0];
  std::cout << printable(options.name) << "\nbase " << printable(runs[base].run.name) << "\nhead "
            << printable(runs[head].run.name) << "\n";
  if (works_differ(before.work, after.work))
    std::cout << "The work changed: base and head compute different things.\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [quantity, value] : after.quantities) {
    const auto found = before.quantities.find(quantity);
    if (found == before.quantities.end()) continue;
    const std::string_view unit = rule_of(quantity, value.rule).unit;
    const double ratio = value.value / found->second.value;
    rows.push_back({printable(quantity), value_text(found->second.value, std::string(unit)),
                    value_text(value.value, std::string(unit)),
                    std::isfinite(ratio) ? change_text(ratio) : "-"});
  }
  std::cout << "\n"
            << format_table({"of", "base", "head", "change"}, rows) << "\n"
            << kernel_table(before.kernels, after.kernels);
  return 0;
}

int explain_main(const ExplainCommandOptions& options) {
  if (!options.store.empty()) return explain_runs(options);
  if (options.base.empty() || options.head.empty() || options.choices.suites.empty())
    fail_input("explain needs --base, --head and a suite, or --store");
  return explain_libraries(options);
}

}  // namespace

Command add_explain(CLI::App& program) {
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "explain", "Which kernels of a case changed between two builds or two stored runs, and how.");
  app->add_option("CASE", options->name, "the case's whole name")->required();
  app->add_option(
      "--base", options->base,
      "a library, a build folder, an installation; with --store a run's name or commit, "
      "else the run before");
  app->add_option("--head", options->head, "the same; with --store else the newest run");
  app->add_option("--store", options->store, "compares runs of this folder or git:BRANCH");
  app->add_option("--lines", options->lines, "of each source's difference at most")
      ->capture_default_str();
  add_compare_choices(*app, options->choices);
  app->get_option("SUITE")->required(false);
  return {app, [options] { return explain_main(*options); }};
}

}  // namespace tcc::tools
