#include "tools/track/history_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "ir/suggest.h"
#include "support/error.h"
#include "tools/track/report_text.h"
#include "tools/track/work.h"

namespace tcc::tools {
namespace {

using track::Change;

bool holds_one(const std::string& text, const std::vector<std::string>& words) {
  return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return text.find(word) != std::string::npos;
         });
}

void check_date(const std::string& date) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  bool good = date.empty() || date.size() >= 4;
  for (size_t i = 0; i < date.size() && good; ++i)
    good = i < kForm.size() &&
           (kForm[i] == 'd' ? date[i] >= '0' && date[i] <= '9' : date[i] == kForm[i]);
  if (!good) fail_input("--since ", date, ": is no date as 2026-11-01");
}

// The order of runs: by date, then by name.
using Key = std::tuple<std::string, std::string, std::string>;

class Loader {
 public:
  explicit Loader(const HistoryChoices& choices) : choices_(choices) {}

  void add(StoredRun&& stored) {
    const std::string machine = stored.run.machine();
    if (!stored.accepted.empty()) {
      for (Acceptance& one : stored.accepted) accepted_[machine].push_back(std::move(one));
      return;
    }
    MachineHistory& history = machines_[machine];
    history.machine = machine;
    const size_t run = history.runs.size();
    stored.run.command.clear();
    history.runs.push_back(std::move(stored.run));
    for (TrackedCase& one : stored.cases) add(history, run, std::move(one));
  }

  std::vector<MachineHistory> finish() {
    std::vector<MachineHistory> all;
    for (auto& [name, history] : machines_) {
      order(history);
      for (auto& [case_name, one] : history.cases)
        for (auto& [quantity, series] : one.quantities)
          series.breaks = breaks_of(quantity, series, one, history);
      for (const Acceptance& one : accepted_[name]) accept(history, one);
      all.push_back(std::move(history));
    }
    return all;
  }

 private:
  Key key_of(const TrackedRun& run) const {
    const bool commit = choices_.by_commit && !run.commit_date.empty();
    return {commit ? run.commit_date : run.date, run.date, run.name};
  }

  void add(MachineHistory& history, size_t run, TrackedCase&& one) {
    CaseHistory& to = history.cases[one.name];
    if (!one.work.empty()) to.works.emplace_back(run, one.work);
    if (one.status == TrackedCase::Status::ok) {
      for (const auto& [quantity, measured] : one.quantities) {
        Series& series = to.quantities[quantity];
        series.counter = measured.rule;
        series.points.push_back({run, measured.value, measured.low, measured.high});
      }
      if (choices_.kernels) add_kernels(to, run, one.kernels);
    }
    // The last record is kept, and the kernels of the one before.
    const Key key = key_of(history.runs[run]);
    auto& [last, before] = keys_[&to];
    if (key >= last) {
      before = std::exchange(last, key);
      to.kernels_before = std::move(to.last.kernels);
      one.samples.clear();
      to.last = std::move(one);
      to.last_run = run;
    } else if (key >= before) {
      before = key;
      to.kernels_before = std::move(one.kernels);
    }
  }

  static void add_kernels(CaseHistory& to, size_t run, const std::vector<TrackedKernel>& kernels) {
    const std::vector<std::string> names = kernel_names(kernels);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const TrackedKernel& kernel = kernels[i];
      if (!kernel.seconds) continue;
      const double seconds = *kernel.seconds;
      to.quantities[std::string(kKernelPrefix) + names[i]].points.push_back(
          {run, seconds, kernel.low.value_or(seconds), kernel.high.value_or(seconds)});
    }
  }

  void order(MachineHistory& history) const {
    std::vector<std::pair<Key, size_t>> order;
    for (const TrackedRun& run : history.runs) order.emplace_back(key_of(run), order.size());
    std::sort(order.begin(), order.end());
    std::vector<size_t> rank(order.size());
    std::vector<TrackedRun> runs;
    for (size_t i = 0; i < order.size(); ++i) {
      rank[order[i].second] = i;
      runs.push_back(std::move(history.runs[order[i].second]));
    }
    history.runs = std::move(runs);
    for (auto& [name, one] : history.cases) {
      one.last_run = rank[one.last_run];
      for (auto& [run, work] : one.works) run = rank[run];
      std::sort(one.works.begin(), one.works.end());
      for (auto& [quantity, series] : one.quantities) {
        for (Series::Point& point : series.points) point.run = rank[point.run];
        std::sort(series.points.begin(), series.points.end(),
                  [](const auto& a, const auto& b) { return a.run < b.run; });
      }
    }
  }

  // The last known work and compiler count up to the next that is known.
  std::vector<TrackedHistory::Break> breaks_of(const std::string& quantity, const Series& series,
                                               const CaseHistory& one,
                                               const MachineHistory& history) const {
    const bool by_compiler = rule_of(quantity, series.counter).by_compiler;
    std::vector<TrackedHistory::Break> breaks;
    std::string_view last_work, last_compiler;
    auto work = one.works.begin();
    for (size_t i = 0; i < series.points.size(); ++i) {
      const size_t run = series.points[i].run;
      work = std::find_if(work, one.works.end(), [&](const auto& w) { return w.first >= run; });
      const std::string_view here =
          work != one.works.end() && work->first == run ? work->second : std::string_view();
      const std::string& compiler = history.runs[run].compiler;
      if (!choices_.any_work && works_differ(last_work, here))
        breaks.push_back({i, "the work changed"});
      else if (by_compiler && i > 0 && compiler != last_compiler)
        breaks.push_back({i, "the compiler changed"});
      if (!here.empty()) last_work = here;
      last_compiler = compiler;
    }
    return breaks;
  }

  // An acceptance of unknown runs or cases is ignored.
  static void accept(MachineHistory& history, const Acceptance& accepted) {
    const auto run = std::find_if(history.runs.begin(), history.runs.end(),
                                  [&](const TrackedRun& one) { return one.name == accepted.from; });
    const auto one = history.cases.find(accepted.name);
    if (run == history.runs.end() || one == history.cases.end()) return;
    const auto number = static_cast<size_t>(run - history.runs.begin());
    for (auto& [quantity, series] : one->second.quantities) {
      if (!accepted.quantity.empty() && quantity != accepted.quantity) continue;
      const auto point = std::find_if(series.points.begin(), series.points.end(),
                                      [&](const auto& each) { return each.run >= number; });
      const auto at = static_cast<size_t>(point - series.points.begin());
      if (at < series.accepted) continue;
      series.accepted = at;
      series.note = accepted.note;
    }
  }

  const HistoryChoices& choices_;
  std::map<std::string, MachineHistory> machines_;
  std::map<std::string, std::vector<Acceptance>> accepted_;  // by machine
  std::map<const CaseHistory*, std::pair<Key, Key>> keys_;   // of the last record, the one before
};

std::vector<Change> steps_by(const Rule& rule, const std::vector<double>& values) {
  std::vector<Change> changes;
  double level = values.empty() ? 0 : values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (judged(rule, level, values[i]) == Quantity::Verdict::same) continue;
    const double ratio = values[i] == 0 && level == 0 ? 1
                         : level == 0                 ? std::numeric_limits<double>::infinity()
                                                      : values[i] / level;
    changes.push_back({Change::Kind::step, i, i, ratio});
    level = values[i];
  }
  return changes;
}

// A gate on cases that are not there would never fail.
void check_case(const Store& store, const std::string& word,
                const std::vector<MachineHistory>& histories) {
  for (const MachineHistory& machine : histories)
    for (const auto& [name, one] : machine.cases)
      if (name.find(word) != std::string::npos) return;
  fail_input(store.place(), ": no case's name holds '", word, "'; ",
             known_names(word, case_names(store)));
}

}  // namespace

std::set<std::string> case_names(const Store& store) {
  std::set<std::string> names;
  Damage told_already;
  read_runs(store, {}, told_already, [&](StoredRun&& run) {
    for (const TrackedCase& one : run.cases) names.insert(one.name);
  });
  return names;
}

std::string known_names(const std::string& wanted, const std::set<std::string>& names) {
  constexpr size_t kMostNames = 20;
  if (names.empty()) return "there is none";
  const std::vector<std::string> all(names.begin(), names.end());
  const std::string close = ir::closest_name(wanted, all);
  if (!close.empty()) return "did you mean '" + close + "'?";
  std::string text = "there are ";
  for (size_t i = 0; i < all.size() && i < kMostNames; ++i)
    text += (i > 0 ? ", '" : "'") + all[i] + "'";
  return text + (all.size() > kMostNames ? str(" and ", all.size() - kMostNames, " more") : "");
}

std::vector<double> Series::values() const {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.value);
  return values;
}

size_t Series::counted_from() const {
  return std::max(accepted, breaks.empty() ? 0 : breaks.back().point);
}

std::string Series::why_from() const {
  if (counted_from() == 0) return "";
  return accepted == counted_from() ? "accepted: " + note : breaks.back().why;
}

std::vector<MachineHistory> load_histories(const Store& store, const HistoryChoices& choices,
                                           Damage& damage) {
  check_date(choices.since);
  ReadOptions options;
  options.details = choices.kernels;
  options.runs = [&](const TrackedRun& run) {
    const std::string machine = run.machine();
    return run.date >= choices.since && holds_one(machine, choices.machines) &&
           (choices.machine.empty() || machine == choices.machine);
  };
  options.cases = [&](const std::string& name) { return holds_one(name, choices.cases); };
  Loader loader(choices);
  read_runs(store, options, damage, [&](StoredRun&& run) {
    // A later acceptance counts for older runs, too.
    if (choices.until.empty() || run.run.name <= choices.until || !run.accepted.empty())
      loader.add(std::move(run));
  });
  std::vector<MachineHistory> histories = loader.finish();
  if (histories.empty())
    fail_input(store.place(), ": has no run", choices.since.empty() ? "" : " since then",
               choices.machines.empty() ? "" : " of such a machine",
               damage.any() ? "; " + damage.summary() : "");
  for (const std::string& word : choices.cases) check_case(store, word, histories);
  return histories;
}

std::vector<Change> changes_of(const Rule& rule, const std::vector<double>& values,
                               double false_alarms) {
  if (rule.kind != Rule::Kind::noisy) return steps_by(rule, values);
  if (std::any_of(values.begin(), values.end(), [](double value) { return !(value > 0); }))
    return {};
  std::vector<Change> changes = track::find_changes(values, {.false_alarms = false_alarms});
  std::erase_if(changes, [&](const Change& change) {
    return std::abs(std::log(change.ratio)) < std::log1p(std::max(rule.ignored, 0.0));
  });
  return changes;
}

std::vector<Change> changes_of(const Rule& rule, const Series& series, size_t from,
                               double false_alarms) {
  const std::vector<double> values = series.values();
  std::vector<size_t> ends;
  for (const TrackedHistory::Break& one : series.breaks)
    if (one.point > from) ends.push_back(one.point);
  ends.push_back(values.size());
  std::vector<Change> all;
  for (const size_t end : ends) {
    const std::vector<double> stretch(values.begin() + static_cast<std::ptrdiff_t>(from),
                                      values.begin() + static_cast<std::ptrdiff_t>(end));
    for (Change change :
         changes_of(rule, stretch, false_alarms / static_cast<double>(ends.size()))) {
      change.first += from;
      change.last += from;
      all.push_back(change);
    }
    from = end;
  }
  return all;
}

bool is_worse(const Rule& rule, const Change& change) {
  return rule.more_is_better ? change.ratio < 1 : change.ratio > 1;
}

std::string describe(const Change& change, const TrackedHistory& history, const Series& series,
                     const MachineHistory& machine) {
  const std::vector<Series::Point>& points = series.points;
  const auto run_of = [&](size_t point) -> const TrackedRun& {
    return machine.runs[points[point].run];
  };
  const bool step = change.kind == Change::Kind::step;
  const TrackedRun& at = run_of(change.first);
  const TrackedRun& before = run_of(change.first > 0 ? change.first - 1 : 0);
  const TrackedRun& end = run_of(change.last);
  std::string text = str(step ? "step" : "drift", std::isfinite(change.ratio) ? " of " : " from ",
                         size_text(history, change), " at run ", change.first + 1);
  if (!step) text += str(" to ", change.last + 1);
  text += str(" of ", points.size(), ", ", at.date.substr(0, 10));
  if (!step) text += " to " + end.date.substr(0, 10);
  if (!at.commit.empty() || !before.commit.empty())
    text += ", " + short_commit(before.commit) + ".." + short_commit(end.commit);
  const auto differs = [&](const char* what, const std::string TrackedRun::*member) {
    if (before.*member != end.*member)
      text += str(", ", what, " ", before.*member, " -> ", end.*member);
  };
  differs("driver", &TrackedRun::driver);
  differs("compiler", &TrackedRun::compiler);
  differs("tcc", &TrackedRun::version);
  return text;
}

std::string describe(const TrackedHistory::Break& one, const Series& series,
                     const MachineHistory& machine) {
  const TrackedRun& before = machine.runs[series.points[one.point - 1].run];
  const TrackedRun& at = machine.runs[series.points[one.point].run];
  std::string text = one.why + ", " + at.date.substr(0, 10);
  if (!at.commit.empty() || !before.commit.empty())
    text += ", " + short_commit(before.commit) + ".." + short_commit(at.commit);
  if (before.compiler != at.compiler)
    text += ", compiler " + before.compiler + " -> " + at.compiler;
  return text;
}

}  // namespace tcc::tools
