#include "tools/track/history.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "support/error.h"
#include "support/plural.h"
#include "support/version.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/track/report_options.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

using track::Change;

struct HistoryCommandOptions {
  std::string store, by = "run";
  HistoryChoices choices;
  GateOptions gate;
  double false_alarms_percent = 5;
  ReportOptions reports;
};

TrackedHistory drawn(const std::string& quantity, const Rule& rule, const Series& series,
                     const MachineHistory& machine, double false_alarms) {
  TrackedHistory history;
  history.quantity = quantity;
  history.unit = rule.unit;
  for (const Series::Point& point : series.points) {
    const TrackedRun& run = machine.runs[point.run];
    history.points.push_back({run.name, run.commit, run.date, point.value, point.low, point.high});
  }
  history.changes = changes_of(rule, series, 0, false_alarms);
  history.breaks = series.breaks;
  return history;
}

// The newest change that began, or went on, within the last runs.
Quantity judged_by(const Rule& rule, const TrackedHistory& history, const Series& series,
                   const MachineHistory& machine, const GateOptions& gate) {
  Quantity quantity;
  quantity.name = history.quantity;
  quantity.unit = history.unit;
  quantity.gates = rule.gates && gate.runs > 0;
  const size_t count = history.points.size();
  quantity.head = history.points.back().value;
  if (gate.runs == 0) {
    // Nothing is judged, but the newest change is reported.
    quantity.verdict = Quantity::Verdict::not_judged;
    if (!history.changes.empty())
      quantity.reason = describe(history.changes.back(), history, series, machine);
    return quantity;
  }
  quantity.base = quantity.head;
  for (const Change& change : changes_of(rule, series, series.counted_from(), gate.false_alarms)) {
    if (change.last + gate.runs < count) continue;
    quantity.verdict =
        is_worse(rule, change) ? Quantity::Verdict::worse : Quantity::Verdict::better;
    quantity.base = history.points[change.first > 0 ? change.first - 1 : 0].value;
    quantity.reason = describe(change, history, series, machine);
  }
  return quantity;
}

ReportedCase reported(const std::string& name, const CaseHistory& one,
                      const MachineHistory& machine, const GateOptions& gate,
                      std::vector<std::string>& notes) {
  ReportedCase reported;
  reported.name = name;
  reported.file = one.last.file;
  reported.line = one.last.line;
  reported.head_kernels = one.last.kernels;
  reported.base_kernels = one.kernels_before;
  if (one.last.status != TrackedCase::Status::ok) {
    Quantity result;
    result.name = "result";
    result.verdict = Quantity::Verdict::failed;
    result.reason = one.last.reason;
    result.gates = gate.runs > 0;
    reported.quantities.push_back(std::move(result));
  }
  std::set<std::string> breaks;  // once for all quantities
  for (const auto& [quantity, series] : one.quantities) {
    const Rule rule = rule_of(quantity, series.counter);
    for (const TrackedHistory::Break& each : series.breaks)
      breaks.insert(describe(each, series, machine));
    TrackedHistory history = drawn(quantity, rule, series, machine, gate.false_alarms);
    Quantity judged = judged_by(rule, history, series, machine, gate);
    if (one.last_run == series.points.back().run) hold_to(one.last.budget, judged);
    for (const Change& change : history.changes)
      notes.push_back(str(name, ", ", quantity, ": ", describe(change, history, series, machine)));
    if (series.accepted > 0 && series.accepted < series.points.size())
      notes.push_back(str(name, ", ", quantity, ": accepted from run ", series.accepted + 1, " of ",
                          series.points.size(), " on: ", series.note));
    const auto at = quantity == "time" ? reported.quantities.begin() : reported.quantities.end();
    reported.quantities.insert(at, std::move(judged));
    const auto place = quantity == "time" ? reported.histories.begin() : reported.histories.end();
    reported.histories.insert(place, std::move(history));
  }
  for (const std::string& text : breaks) notes.push_back(name + ": " + text);
  return reported;
}

std::string history_table(const TrackReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const ReportedCase& one : report.cases)
    for (const TrackedHistory& history : one.histories) {
      // Kernels and counts that never changed go without saying.
      if (history.changes.empty() && history.breaks.empty() && history.quantity != "time") continue;
      const TrackedHistory::Point& last = history.points.back();
      std::string changes;
      for (const Change& change : history.changes)
        changes += str(changes.empty() ? "" : "; ", size_text(history, change),
                       change.kind == Change::Kind::drift ? " drift" : "", " ",
                       history.points[change.first].date.substr(0, 10));
      for (const TrackedHistory::Break& each : history.breaks)
        changes += str(changes.empty() ? "" : "; ", each.why, " ",
                       history.points[each.point].date.substr(0, 10));
      rows.push_back({printable(one.name), printable(history.quantity),
                      std::to_string(history.points.size()), value_text(last.value, history.unit),
                      changes.empty() ? "-" : changes});
    }
  return format_table({"case", "of", "runs", "last", "changes"}, rows);
}

int history_main(HistoryCommandOptions options) {
  check_report_options(options.reports);
  options.choices.by_commit = options.by == "commit";
  options.gate.false_alarms = options.false_alarms_percent / 100;
  Damage damage;
  const auto store =
      open_store(options.store, [](const std::string& text) { std::cerr << text << "\n"; });
  std::vector<TrackReport> reports;
  for (const MachineHistory& machine : load_histories(*store, options.choices, damage)) {
    TrackReport& report = reports.emplace_back(history_report(machine, options.gate));
    if (damage.any()) report.notes.push_back(damage.summary());
  }
  for (const std::string& told : damage.told) std::cerr << printable(told) << "\n";
  if (damage.any()) std::cerr << damage.summary() << "\n";
  bool passes = true;
  for (const TrackReport& report : reports) {
    passes &= report.passes();
    if (prints_report(options.reports)) continue;
    std::cout << printable(report.head.label) << "\n" << history_table(report);
    for (const std::string& note : report.notes) std::cout << printable(note) << "\n";
    if (options.gate.runs > 0)
      for (const ReportedCase& one : report.cases)
        for (const Quantity& quantity : one.quantities)
          if (is_breach(quantity))
            std::cout << "gate: " << printable(one.name) << ", " << quantity.name << ": "
                      << name(standing(quantity)) << "\n";
  }
  write_reports(reports, options.reports);
  return passes ? 0 : 1;
}

}  // namespace

TrackReport report_head(const TrackedRun& run) {
  TrackReport report;
  for (const std::string& word : command_words())
    report.command += (report.command.empty() ? "" : " ") + word;
  report.date = utc_now();
  report.version = build_version();
  report.commit = build_commit();
  report.device = run.device;
  report.description = run.description;
  report.driver = run.driver;
  report.target = run.target;
  report.head = {run.name, run.version, run.commit, run.date};
  return report;
}

TrackReport history_report(const MachineHistory& machine, const GateOptions& gate) {
  TrackReport report = report_head(machine.runs.back());
  report.head.label = str(counted(machine.runs.size(), "run"), " on ", machine.machine);
  report.false_alarms = gate.false_alarms;
  for (const auto& [name, one] : machine.cases)
    report.cases.push_back(reported(name, one, machine, gate, report.notes));
  return report;
}

void add_any_work(CLI::App& app, bool& any_work) {
  app.add_flag("--any-work", any_work,
               "hold a case against runs of other work, too: for a repository of models, where the "
               "graphs are what changes");
}

Command add_history(CLI::App& program) {
  auto options = std::make_shared<HistoryCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "history", "Stored runs: when a case became slower, and a gate on what did lately.");
  app->add_option("--store", options->store,
                  "a folder, or a branch: git:BRANCH, git:REPOSITORY#BRANCH")
      ->required();
  app->add_option("--case", options->choices.cases, "cases whose name holds this; several")
      ->allow_extra_args(false);
  app->add_option("--machine", options->choices.machines,
                  "machines (host, device, target) whose name holds this; several")
      ->allow_extra_args(false);
  app->add_option("--since", options->choices.since, "runs from this date on (UTC): 2026-11-01");
  app->add_option("--by", options->by, "the order of runs: when they ran, or their commits' dates")
      ->check(CLI::IsMember({"run", "commit"}))
      ->capture_default_str();
  app->add_flag("--kernels", options->choices.kernels, "times of kernels, too");
  app->add_option("--gate", options->gate.runs,
                  "exit 1 where something became worse within the last N runs, failed in the "
                  "last, or is over its budget")
      ->expected(0, 1)
      ->default_str("20")
      ->check(number_in(1, 1000000));
  add_any_work(*app, options->choices.any_work);
  app->add_option("--false-alarms", options->false_alarms_percent,
                  "how often a history without any change may show one, in percent")
      ->check(number_in(0.001, 50.0))
      ->capture_default_str();
  add_report_options(*app, options->reports);
  return {app, [options] { return history_main(*options); }};
}

}  // namespace tcc::tools
