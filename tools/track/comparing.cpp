#include "tools/track/comparing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/device.h"
#include "support/error.h"
#include "support/plural.h"
#include "support/version.h"
#include "tcc/progress.hpp"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/track/report_text.h"
#include "tools/track/rules.h"
#include "tools/track/told.h"

namespace tcc::tools {
namespace {

using track::CaseResult;

constexpr double kOpenSeconds = 120;  // that opening a library may take

Quantity::Verdict verdict_of(CaseResult::Verdict verdict) {
  switch (verdict) {
    case CaseResult::Verdict::same: return Quantity::Verdict::same;
    case CaseResult::Verdict::slower: return Quantity::Verdict::worse;
    case CaseResult::Verdict::faster: return Quantity::Verdict::better;
    case CaseResult::Verdict::unmeasurable: return Quantity::Verdict::unmeasurable;
    case CaseResult::Verdict::failed: return Quantity::Verdict::failed;
  }
  throw InternalError("a verdict of unknown kind");
}

Quantity named(const std::string& name, const std::string& unit) {
  Quantity quantity;
  quantity.name = name;
  quantity.unit = unit;
  return quantity;
}

Quantity quantity_of(const std::string& name, const CaseResult& result) {
  Quantity quantity = named(name, "s");
  quantity.verdict = verdict_of(result.verdict);
  quantity.reason = result.reason;
  if (result.effect.blocks > 0) {
    quantity.effect = result.effect;
    quantity.p = result.p;
    quantity.visible = result.visible;
  }
  return quantity;
}

bool is_changed(const ReportedCase& one) {
  return std::any_of(one.quantities.begin(), one.quantities.end(), [](const Quantity& quantity) {
    return quantity.verdict == Quantity::Verdict::worse ||
           quantity.verdict == Quantity::Verdict::better;
  });
}

DuelSetup setup_of(const CompareChoices& choices, const std::string& device,
                   const std::string& base, const std::string& head, bool cold) {
  return {find_library(base), find_library(head), {device, choices.tuning, ""}, false, cold};
}

}  // namespace

std::vector<TrackedKernel> kernels_of(const Duels::Side& side) {
  std::vector<TrackedKernel> kernels;
  if (!side.facts) return kernels;
  const nlohmann::json all = nlohmann::json::parse(side.facts->kernels);
  for (size_t i = 0; i < all.size(); ++i) {
    const nlohmann::json& from = all[i];
    TrackedKernel kernel;
    kernel.region = from.at("region");
    kernel.kernel_template = from.at("template");
    kernel.config = from.at("config");
    kernel.tier = from.at("tier");
    kernel.launches = from.at("launches");
    kernel.bytes = from.at("bytes");
    kernel.flops = from.at("flops");
    // Libraries before 0.2 have no more.
    if (from.contains("layers")) {
      kernel.layers = from.at("layers").get<std::vector<std::string>>();
      kernel.key = from.at("region_key");
      kernel.source = from.at("source_key");
    }
    if (i < side.kernel_seconds.size()) {
      const double seconds = side.kernel_seconds[i];
      kernel.seconds = seconds;
      if (seconds > 0 && from.contains("least_seconds"))
        kernel.roofline = from.at("least_seconds").get<double>() / seconds;
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

bool CompareChoices::judges(const std::string& what) const {
  if (judged.empty()) return what == "time" || what == "counts";
  return std::find(judged.begin(), judged.end(), what) != judged.end();
}

void add_compare_choices(CLI::App& app, CompareChoices& choices) {
  app.add_option("SUITE", choices.suites, "suites of cases (bench/suites), .yaml")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--device", choices.device, "cuda:N, vulkan:N or auto")->capture_default_str();
  app.add_option("--filter", choices.filters, "cases whose name holds one of these words");
  app.add_option("--tuning", choices.tuning, "files and folders of tuning records, for both");
  app.add_option("--only", choices.judged,
                 "what is judged: time, counts (launches and bytes), compile-time (of a first "
                 "compilation); several; time and counts by default")
      ->check(CLI::IsMember({"time", "counts", "compile-time"}));
  app.add_option("--smallest", choices.smallest_percent,
                 "the smallest change of a time that is to be seen, in percent")
      ->check(number_in(0.01, 900.0))
      ->capture_default_str();
  app.add_option("--smallest-compile", choices.smallest_compile_percent,
                 "the same of compile times")
      ->check(number_in(0.01, 900.0))
      ->capture_default_str();
  app.add_option("--false-alarms", choices.false_alarms_percent,
                 "how often a run without any change may report one, in percent")
      ->check(number_in(0.001, 50.0))
      ->capture_default_str();
  app.add_option("--most-blocks", choices.most_blocks, "measured of one case at most")
      ->check(number_in(8, 1000))
      ->capture_default_str();
  app.add_option("--limit", choices.limit,
                 "seconds that one block of one case may take; a case that takes longer fails")
      ->check(number_in(0.1, 1e6))
      ->capture_default_str();
}

ComparedCases cases_of(const CompareChoices& choices) {
  ComparedCases cases;
  size_t kernels = 0, commands = 0;
  for (TrackCase& one : read_suites(choices.suites, choices.filters)) {
    kernels += one.kind == TrackCase::Kind::kernel;
    commands += one.kind == TrackCase::Kind::command;
    if (one.kind == TrackCase::Kind::graph) cases.graphs.push_back(std::move(one));
  }
  if (kernels > 0) cases.left_out = counted(kernels, "kernel");
  if (commands > 0)
    cases.left_out += (cases.left_out.empty() ? "" : " and ") + counted(commands, "command");
  if (cases.graphs.empty())
    fail_input("no graph to compare libraries on; of the suites, this is left out: ",
               cases.left_out);
  return cases;
}

Comparing::Comparing(const CompareChoices& choices, const ComparedCases& cases,
                     const std::string& base, const std::string& head)
    : choices_(choices),
      head_([&] {
        TrackReport report;
        const double limit = std::min(choices.limit, kOpenSeconds);
        report.base = {base, library_version(base, limit), "", ""};
        report.head = {head, library_version(head, limit), "", ""};
        const auto device = runtime::open_device(choices.device);
        report.device = device->name();
        report.description = device->target().device;
        report.driver = device->target().driver;
        report.target = device->target().id();
        for (const std::string& word : command_words())
          report.command += (report.command.empty() ? "" : " ") + word;
        report.date = utc_now();
        report.version = build_version();
        report.commit = build_commit();
        if (!cases.left_out.empty())
          report.notes.push_back(
              "Libraries are compared on graphs; of the suites, this is left out: " +
              cases.left_out + ".");
        report.false_alarms = choices.false_alarms_percent / 100;
        report.smallest = choices.smallest_percent / 100;
        return report;
      }()),
      duels_(cases.graphs, setup_of(choices, head_.device, base, head, false), choices.limit),
      compilations_(cases.graphs, setup_of(choices, head_.device, base, head, true), choices.limit),
      failures_(cases.graphs.size()) {}

bool Comparing::interrupted() const { return OnInterrupt::came(); }

std::vector<CaseResult> Comparing::compare(Duels& duels, const char* unit, double smallest_percent,
                                           const std::function<track::Block(size_t)>& measure) {
  const track::Comparison comparison({.false_alarms = choices_.false_alarms_percent / 100,
                                      .smallest = smallest_percent / 100,
                                      .most_blocks = choices_.most_blocks});
  std::vector<std::string> names;
  for (const Duels::Case& one : duels.cases()) names.push_back(one.what.name);
  Told told;
  const auto start = std::chrono::steady_clock::now();
  return comparison.run(names, measure, [&](size_t done, size_t planned) {
    const double left =
        (seconds_since(start) / static_cast<double>(done)) * static_cast<double>(planned - done);
    told.tell(str("measured ", done, " of ", planned, " ", unit, ", ", format_clock(left),
                  " left at least"));
    return !OnInterrupt::came();
  });
}

void Comparing::run() {
  const OnInterrupt on_interrupt;
  const auto start = std::chrono::steady_clock::now();
  if (choices_.judges("time")) {
    {
      Told told;
      duels_.fill_cache([&](size_t done) {
        told.tell(str("compiled ", done, " of ", duels_.cases().size(), " cases"));
        return !OnInterrupt::came();
      });
    }
    times_ = compare(duels_, "blocks", choices_.smallest_percent,
                     [&](size_t number) { return duels_.block(number); });
  } else if (choices_.judges("counts")) {
    Told told;
    for (size_t i = 0; i < duels_.cases().size() && !OnInterrupt::came(); ++i) {
      try {
        duels_.compile_block(i);
      } catch (const Cancelled&) { break; } catch (const std::exception& error) {
        failures_[i] = error.what();
      }
      told.tell(str("compiled ", i + 1, " of ", duels_.cases().size(), " cases"));
    }
  }
  if (choices_.judges("compile-time") && !OnInterrupt::came())
    compile_times_ = compare(compilations_, "compilations", choices_.smallest_compile_percent,
                             [&](size_t number) { return compilations_.compile_block(number); });
  seconds_ = seconds_since(start);
}

// Counts are the same in every run, so that any growth is one.
void Comparing::add_counts(const Duels::Case& one, ReportedCase& reported) const {
  if (!one.base.facts || !one.head.facts) return;
  const auto add = [&](const char* name, int64_t CaseFacts::*member) {
    const Rule rule = rule_of(name);
    Quantity quantity = named(name, std::string(rule.unit));
    quantity.base = static_cast<double>((*one.base.facts).*member);
    quantity.head = static_cast<double>((*one.head.facts).*member);
    quantity.verdict = judged(rule, *quantity.base, *quantity.head);
    reported.quantities.push_back(std::move(quantity));
  };
  add("launches", &CaseFacts::launches);
  add("arena bytes", &CaseFacts::arena_bytes);
  add("constant bytes", &CaseFacts::constant_bytes);
}

ReportedCase Comparing::reported(size_t number) {
  const Duels::Case& one = duels_.cases()[number];
  ReportedCase reported;
  reported.name = one.what.name;
  reported.file = one.what.file;
  reported.line = one.what.line;
  if (!times_.empty()) {
    Quantity time = quantity_of("time", times_[number]);
    if (!one.base.seconds.empty()) {
      time.base = track::median_of(one.base.seconds);
      time.head = track::median_of(one.head.seconds);
      time.base_samples = one.base.seconds;
      time.head_samples = one.head.seconds;
    }
    reported.quantities.push_back(std::move(time));
  } else if (!failures_[number].empty()) {
    Quantity compiling = named("compiling", "");
    compiling.verdict = Quantity::Verdict::failed;
    compiling.reason = failures_[number];
    reported.quantities.push_back(std::move(compiling));
  }
  if (!compile_times_.empty()) {
    Quantity time = quantity_of("compile time", compile_times_[number]);
    const Duels::Case& compiled = compilations_.cases()[number];
    if (compiled.base.facts && compiled.head.facts) {
      time.base = compiled.base.facts->compile_seconds;
      time.head = compiled.head.facts->compile_seconds;
    }
    reported.quantities.push_back(std::move(time));
  }
  if (choices_.judges("counts")) add_counts(one, reported);
  for (Quantity& quantity : reported.quantities) hold_to(one.what.budget, quantity);
  if (!times_.empty() && is_changed(reported) && !OnInterrupt::came()) {
    try {
      duels_.time_kernels(number);
    } catch (const std::exception& error) {
      head_.notes.push_back(str(one.what.name, ": its kernels were not timed: ", error.what()));
    }
  }
  reported.base_kernels = kernels_of(one.base);
  reported.head_kernels = kernels_of(one.head);
  return reported;
}

TrackReport Comparing::report() {
  TrackReport report = head_;
  for (size_t i = 0; i < duels_.cases().size(); ++i) report.cases.push_back(reported(i));
  report.notes = head_.notes;
  for (const Duels* duels : {&duels_, &compilations_})
    report.notes.insert(report.notes.end(), duels->notes().begin(), duels->notes().end());
  if (OnInterrupt::came()) report.notes.emplace_back("interrupted: cases without a verdict");
  report.seconds = seconds_;
  return report;
}

std::string compare_table(const TrackReport& report) {
  size_t equal = 0;
  std::vector<std::vector<std::string>> rows;
  for (const ReportedCase& one : report.cases)
    for (const Quantity& quantity : one.quantities) {
      const bool is_time = quantity.unit == "s";
      // Equal counts go without saying.
      if (!is_time && quantity.verdict == Quantity::Verdict::same && !quantity.over_budget) {
        ++equal;
        continue;
      }
      rows.push_back({printable(one.name), quantity.name, value_text(quantity.base, quantity.unit),
                      value_text(quantity.head, quantity.unit),
                      std::isfinite(ratio(quantity)) ? change_text(ratio(quantity)) : "-",
                      quantity.effect ? interval_text(*quantity.effect) : "-",
                      quantity.visible ? change_text(1 + *quantity.visible).substr(1) : "-",
                      quantity.effect ? std::to_string(quantity.effect->blocks) : "-",
                      std::string(name(standing(quantity))) +
                          (quantity.reason.empty() ? "" : ": " + printable(quantity.reason))});
    }
  std::string text;
  if (!rows.empty())
    text = format_table(
        {"case", "of", "base", "head", "change", "95 % interval", "visible", "blocks", "verdict"},
        rows);
  if (equal > 0)
    text += str(equal, equal == 1 ? " count is" : " counts are", " equal in both libraries, of ",
                counted(report.cases.size(), "case"), ".\n");
  return text;
}

}  // namespace tcc::tools
