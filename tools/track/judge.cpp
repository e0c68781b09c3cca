#include "tools/track/judge.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/history.h"
#include "tools/track/report_options.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

using Verdict = Quantity::Verdict;

struct JudgeCommandOptions {
  std::string store, run;
  JudgeOptions judge;
  ReportOptions reports;
};

Verdict verdict_of(track::CaseResult::Verdict verdict, bool more_is_better) {
  using Result = track::CaseResult::Verdict;
  switch (verdict) {
    case Result::slower: return more_is_better ? Verdict::better : Verdict::worse;
    case Result::faster: return more_is_better ? Verdict::worse : Verdict::better;
    case Result::unmeasurable: return Verdict::unmeasurable;
    default: return Verdict::same;
  }
}

// The value that an exact quantity is held to. A worse value is expected only once as many runs had
// it as a level of times needs: until then every new run reports it.
double expected(const Rule& rule, const std::vector<double>& history) {
  double level = history.front();
  size_t worse = 0;
  for (const double value : history) {
    worse = judged(rule, level, value) == Verdict::worse ? worse + 1 : 0;
    if (worse == 0 || worse == track::JudgeOptions().least_runs) level = value, worse = 0;
  }
  return level;
}

class Judging {
 public:
  Judging(const MachineHistory& machine, size_t run, const JudgeChoices& choices)
      : machine_(machine), run_(run), choices_(choices), report_(report_head(machine.runs[run])) {
    report_.false_alarms = choices.false_alarms;
    report_.smallest = choices.smallest;
    if (choices.with_history) report_.base.label = counted(run, "run") + " before";
  }

  TrackReport judge() {
    for (const auto& [name, one] : machine_.cases)
      if (one.last_run == run_) add(name, one);
    if (report_.cases.empty())
      fail_input(report_.head.label, ": it has no case that could be judged");
    const auto results = track::judge(
        noisy_, {.false_alarms = choices_.false_alarms, .smallest = choices_.smallest});
    for (size_t i = 0; i < results.size(); ++i) conclude(results[i], places_[i]);
    return std::move(report_);
  }

 private:
  // The place in the report of a quantity with a noisy history.
  struct Place {
    size_t one = 0, quantity = 0;
    bool more_is_better = false;
  };

  void add(const std::string& name, const CaseHistory& one) {
    ReportedCase& reported = report_.cases.emplace_back();
    reported.name = name;
    reported.file = one.last.file;
    reported.line = one.last.line;
    if (one.last.status != TrackedCase::Status::ok) {
      Quantity result;
      result.name = "result";
      result.verdict = Verdict::failed;
      result.reason = one.last.reason;
      reported.quantities.push_back(std::move(result));
      return;
    }
    // "time" first.
    const auto time = one.quantities.find("time");
    std::set<std::string> breaks;  // once for all quantities
    if (time != one.quantities.end()) add(one, time->first, time->second, reported, breaks);
    for (const auto& [quantity, series] : one.quantities)
      if (quantity != "time" && !quantity.starts_with(kKernelPrefix))
        add(one, quantity, series, reported, breaks);
    for (const std::string& text : breaks) report_.notes.push_back(name + ": " + text);
  }

  void add(const CaseHistory& one, const std::string& name, const Series& series,
           ReportedCase& reported, std::set<std::string>& breaks) {
    if (series.points.back().run != run_) return;
    const Rule rule = rule_of(name, series.counter);
    Quantity& quantity = reported.quantities.emplace_back();
    quantity.name = name;
    quantity.unit = rule.unit;
    std::vector<double> history = series.values();
    quantity.head = history.back();
    history.pop_back();
    hold_to(one.last.budget, quantity);
    if (!choices_.with_history) {
      quantity.verdict = Verdict::not_judged;
      return;
    }
    const size_t from = std::min(series.counted_from(), history.size());
    if (from > 0 && from == history.size()) {
      quantity.base = history.back();
      quantity.verdict = Verdict::not_judged;
      quantity.reason = series.why_from();
      if (!series.breaks.empty() && series.breaks.back().point == from)
        breaks.insert(describe(series.breaks.back(), series, machine_));
      return;
    }
    history.erase(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(from));
    if (rule.kind != Rule::Kind::noisy) {
      if (history.empty()) {
        quantity.verdict = Verdict::not_judged;
        quantity.reason = "it has no history yet";
      } else {
        quantity.base = expected(rule, history);
        quantity.verdict = judged(rule, *quantity.base, *quantity.head);
      }
      return;
    }
    history.push_back(*quantity.head);
    if (std::any_of(history.begin(), history.end(), [](double value) { return !(value > 0); })) {
      quantity.verdict = Verdict::not_judged;
      quantity.reason = "it is not positive in every run";
      return;
    }
    history.pop_back();
    noisy_.push_back({reported.name, std::move(history), *quantity.head, rule.ignored});
    places_.push_back(
        {report_.cases.size() - 1, reported.quantities.size() - 1, rule.more_is_better});
  }

  void conclude(const track::CaseResult& result, const Place& place) {
    Quantity& quantity = report_.cases[place.one].quantities[place.quantity];
    quantity.verdict = verdict_of(result.verdict, place.more_is_better);
    quantity.reason = result.reason;
    if (result.effect.blocks == 0) {
      // Too few runs: there is nothing to expect.
      if (quantity.verdict == Verdict::unmeasurable) quantity.verdict = Verdict::not_judged;
      return;
    }
    quantity.base = *quantity.head / result.effect.ratio;
    quantity.effect = result.effect;
    quantity.p = result.p;
    quantity.visible = result.visible;
  }

  const MachineHistory& machine_;
  size_t run_;
  const JudgeChoices& choices_;
  TrackReport report_;
  std::vector<track::NextRun> noisy_;
  std::vector<Place> places_;
};

// Empty, with damage, where it cannot be read.
StoredRun detailed(const Store& store, const std::string& name, Damage& damage) {
  const RunText text = store.texts(std::span(&name, 1)).front();
  if (!text.problem.empty()) {
    damage = {.files = 1, .told = {text.problem}};
    return {};
  }
  return parse_run(text.text, name, store.file_of(name), {.details = true}, damage)
      .value_or(StoredRun());
}

std::vector<TrackedKernel> kernels_of(const StoredRun& run, const std::string& name) {
  for (const TrackedCase& one : run.cases)
    if (one.name == name) return one.kernels;
  return {};
}

int judge_main(const JudgeCommandOptions& options) {
  check_report_options(options.reports);
  const auto store =
      open_store(options.store, [](const std::string& text) { std::cerr << text << "\n"; });
  const TrackReport report = judge_stored(*store, options.run, options.judge.choices());
  if (!prints_report(options.reports)) std::cout << judge_table(report);
  write_reports(report, options.reports);
  return report.passes() ? 0 : 1;
}

}  // namespace

TrackReport judged_report(const MachineHistory& machine, size_t run, const JudgeChoices& choices) {
  return Judging(machine, run, choices).judge();
}

TrackReport judge_stored(const Store& store, const std::string& run, const JudgeChoices& choices) {
  // Runs up to the judged one: those after it are not its history.
  std::vector<std::string> names = store.names();
  Damage damage;
  // A record that accepts a change is no run.
  while (run.empty() && !names.empty() && !detailed(store, names.back(), damage).accepted.empty())
    names.pop_back();
  const std::string name = run.empty() && !names.empty() ? names.back() : run;
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail_input(store.place(), ": has no run ", name.empty() ? "" : "'" + name + "'");
  damage = {};
  const StoredRun stored = detailed(store, name, damage);
  if (stored.run.date.empty()) fail_input(damage.told.front());
  if (!stored.accepted.empty())
    fail_input(store.file_of(name), ": accepts a change, and is no run");
  HistoryChoices choice;
  choice.until = name;
  choice.machine = stored.run.machine();
  choice.any_work = choices.any_work;
  damage = {};
  const std::vector<MachineHistory> machines = load_histories(store, choice, damage);
  const MachineHistory& machine = machines.front();
  const auto found = std::find_if(machine.runs.begin(), machine.runs.end(),
                                  [&](const TrackedRun& one) { return one.name == name; });
  const auto number = static_cast<size_t>(found - machine.runs.begin());
  TrackReport report = judged_report(machine, number, choices);
  if (damage.any()) report.notes.push_back(damage.summary());
  // Kernels of two runs alone: those of all are many.
  Damage told_already;
  const StoredRun before =
      number > 0 ? detailed(store, machine.runs[number - 1].name, told_already) : StoredRun();
  for (ReportedCase& one : report.cases) {
    one.head_kernels = kernels_of(stored, one.name);
    one.base_kernels = kernels_of(before, one.name);
  }
  return report;
}

std::string judge_table(const TrackReport& report) {
  std::vector<std::pair<Standing, std::vector<std::string>>> rows;
  size_t same = 0, not_judged = 0, unmeasurable = 0;
  double most_visible = 0;
  std::string noisiest;
  for (const ReportedCase& one : report.cases)
    for (const Quantity& quantity : one.quantities) {
      const Standing found = standing(quantity);
      // Equal counts go without saying; what could not be judged is counted.
      if (found == Standing::same && quantity.name != "time") {
        ++same;
      } else if (found == Standing::not_judged) {
        ++not_judged;
      } else if (found == Standing::unmeasurable) {
        ++unmeasurable;
        if (quantity.visible.value_or(0) > most_visible) {
          most_visible = *quantity.visible;
          noisiest = printable(one.name) + ", " + printable(quantity.name);
        }
      } else {
        rows.push_back({found,
                        {printable(one.name), printable(quantity.name),
                         value_text(quantity.base, quantity.unit),
                         value_text(quantity.head, quantity.unit), change_text(ratio(quantity)),
                         quantity.effect ? std::to_string(quantity.effect->blocks) : "-",
                         quantity.visible ? change_text(1 + *quantity.visible).substr(1) : "-",
                         std::string(name(found)) +
                             (quantity.reason.empty() ? "" : ": " + printable(quantity.reason))}});
      }
    }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<std::string>> cells;
  for (auto& row : rows) cells.push_back(std::move(row.second));
  std::string text;
  if (!cells.empty())
    text = format_table(
        {"case", "of", "expected", "measured", "change", "runs", "visible", "verdict"}, cells);
  for (const std::string& note : report.notes) text += printable(note) + "\n";
  text += str(report.head.label, " against ", report.base.label,
              " on this machine: ", summary(report), ".\n");
  if (same > 0) text += counted(same, "quantity", "quantities") + " as before are not shown.\n";
  if (unmeasurable > 0)
    text += str(counted(unmeasurable, "quantity is", "quantities are"),
                " not measurable, since runs differ too much: a change of up to ",
                change_text(1 + most_visible), " (", noisiest,
                ") could have been missed. Reports (--markdown, --html) show each.\n");
  if (not_judged > 0)
    text += counted(not_judged, "quantity has", "quantities have") +
            " too short a history to be judged.\n";
  if (same + unmeasurable + rows.size() == 0) return text + method(report) + "\n";
  return text + str("Without any change, a run reports one with a probability of ",
                    100 * report.false_alarms, " % at most, if runs differ independently.\n");
}

JudgeChoices JudgeOptions::choices() const {
  return {.smallest = smallest_percent / 100,
          .false_alarms = false_alarms_percent / 100,
          .any_work = any_work};
}

void add_judge_options(CLI::App& app, JudgeOptions& options) {
  app.add_option("--smallest", options.smallest_percent,
                 "the smallest change of a time that is to be seen, in percent")
      ->check(number_in(0.01, 900.0))
      ->capture_default_str();
  app.add_option("--false-alarms", options.false_alarms_percent,
                 "how often a run without any change may report one, in percent")
      ->check(number_in(0.001, 50.0))
      ->capture_default_str();
  add_any_work(app, options.any_work);
}

Command add_judge(CLI::App& program) {
  auto options = std::make_shared<JudgeCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "judge", "The newest run of a store, against the runs before it on its machine.");
  app->add_option("--store", options->store,
                  "a folder, or a branch: git:BRANCH, git:REPOSITORY#BRANCH")
      ->required();
  app->add_option("--run", options->run, "another run, by its name");
  add_judge_options(*app, options->judge);
  add_report_options(*app, options->reports);
  return {app, [options] { return judge_main(*options); }};
}

}  // namespace tcc::tools
