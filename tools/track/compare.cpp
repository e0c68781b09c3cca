#include "tools/track/compare.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "runtime/device.h"
#include "support/error.h"
#include "support/file.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/run_info.h"
#include "tools/track/duel.h"

namespace tcc::tools {
namespace {

using track::CaseResult;
using Verdict = CaseResult::Verdict;

struct Options {
  std::string base, head;
  std::vector<std::string> suites, filters, tuning;
  std::string device = "auto", json;
  double smallest_percent = 1, false_alarms_percent = 5;
  size_t most_blocks = 48;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("SUITE", options.suites, "suites of cases (bench/suites), .yaml")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--device", options.device, "cuda:N, vulkan:N or auto")->capture_default_str();
  app.add_option("--filter", options.filters, "cases whose name holds one of these words");
  app.add_option("--tuning", options.tuning, "files and folders of tuning records, for both");
  app.add_option("--smallest", options.smallest_percent,
                 "the smallest change that is to be seen, in percent")
      ->check(CLI::Range(0.01, 900.0))
      ->capture_default_str();
  app.add_option("--false-alarms", options.false_alarms_percent,
                 "how often a run without any change may report one, in percent")
      ->check(CLI::Range(0.001, 50.0))
      ->capture_default_str();
  app.add_option("--most-blocks", options.most_blocks, "measured of one case at most")
      ->check(CLI::Range(8, 1000))
      ->capture_default_str();
  app.add_option("--results", options.json, "writes the results to this file");
}

std::atomic<bool> interrupted{false};

class OnInterrupt {
 public:
  OnInterrupt() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
  ~OnInterrupt() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

// On a terminal a line that is drawn again, in a log a line every ten seconds.
class Told {
 public:
  void tell(const std::string& text) {
    if (LiveLines::possible()) return lines_.draw({text});
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    std::cerr << text << "\n";
  }
  void end() { lines_.clear(); }

 private:
  LiveLines lines_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<TrackCase> cases_of(const Options& options) {
  std::vector<TrackCase> cases;
  for (const std::string& suite : options.suites)
    for (TrackCase& one : read_suite(suite)) {
      const auto holds = [&](const std::string& word) {
        return one.name.find(word) != std::string::npos;
      };
      if (std::any_of(cases.begin(), cases.end(),
                      [&](const TrackCase& other) { return other.name == one.name; }))
        fail_input(suite, ": case '", one.name, "' is in an earlier suite too");
      if (options.filters.empty() ||
          std::any_of(options.filters.begin(), options.filters.end(), holds))
        cases.push_back(std::move(one));
    }
  if (cases.empty()) fail_input("--filter leaves no case");
  return cases;
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f%%", 100 * (ratio - 1));
  return text;
}
std::string share(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * value);
  return text;
}

struct Outcome {
  std::vector<CaseResult> results;
  double seconds = 0;
  size_t blocks = 0;
};

class Run {
 public:
  Run(const Options& options, const Library& base, const Library& head)
      : options_(options),
        cases_(cases_of(options)),
        comparison_({.false_alarms = options.false_alarms_percent / 100,
                     .smallest = options.smallest_percent / 100,
                     .most_blocks = options.most_blocks}),
        device_(runtime::open_device(options.device)),
        duels_(base, head, cases_, {device_->name(), options.tuning}, [&](size_t done) {
          told_.tell(str("compiled ", done, " of ", cases_.size(), " cases"));
        }) {}

  const std::vector<CaseResult>& measure() {
    const auto start = std::chrono::steady_clock::now();
    const OnInterrupt on_interrupt;
    std::vector<std::string> names;
    for (const TrackCase& one : cases_) names.push_back(one.name);
    results_ = comparison_.run(
        names, [&](size_t number) { return duels_.block(number); },
        [&](size_t done, size_t planned) {
          const double left = (seconds_since(start) / static_cast<double>(done)) *
                              static_cast<double>(planned - done);
          told_.tell(
              str("measured ", done, " of ", planned, " blocks, ", format_clock(left), " left"));
          blocks_ = done;
          return !interrupted;
        });
    told_.end();
    seconds_ = seconds_since(start);
    return results_;
  }

  size_t count(Verdict verdict) const {
    return static_cast<size_t>(
        std::count_if(results_.begin(), results_.end(),
                      [&](const CaseResult& one) { return one.verdict == verdict; }));
  }
  const Duels& duels() const { return duels_; }
  const std::vector<CaseResult>& results() const { return results_; }

  // The rule of what is counted: more is worse, by how little.
  std::vector<std::string> grown() const {
    std::vector<std::string> lines;
    for (size_t i = 0; i < cases_.size(); ++i) {
      const Duels::Case& one = duels_.at(i);
      if (!one.base.contestant || !one.head.contestant) continue;
      const CaseFacts &base = one.base.contestant->facts(), &head = one.head.contestant->facts();
      const auto compare = [&](const char* what, int64_t before, int64_t after) {
        if (after > before)
          lines.push_back(str(cases_[i].name, ": ", what, " ", before, " -> ", after));
      };
      compare("launches", base.launches, head.launches);
      compare("arena bytes", base.arena_bytes, head.arena_bytes);
      compare("constant bytes", base.constant_bytes, head.constant_bytes);
    }
    return lines;
  }

  void print_table() const {
    std::vector<std::vector<std::string>> rows;
    for (size_t i = 0; i < results_.size(); ++i) {
      const CaseResult& result = results_[i];
      const Duels::Case& one = duels_.at(i);
      const bool measured = result.effect.blocks > 1;
      rows.push_back(
          {printable(result.name), measured ? format_seconds(one.base.seconds) : "-",
           measured ? format_seconds(one.head.seconds) : "-",
           measured ? percent(result.effect.ratio) : "-",
           measured ? percent(result.effect.low) + " .. " + percent(result.effect.high) : "-",
           result.visible > 0 ? share(result.visible) : "-", std::to_string(result.effect.blocks),
           std::string(track::name(result.verdict)) +
               (result.reason.empty() ? "" : ": " + printable(result.reason))});
    }
    std::cout << format_table(
        {"case", "base", "head", "change", "95% interval", "visible", "blocks", "verdict"}, rows);
  }

  void write_json(const Library& base, const Library& head) const {
    if (options_.json.empty()) return;
    JsonWriter json(JsonWriter::Style::indented);
    json.begin_object().member("schema", 1).member("kind", "comparison");
    add_made_by(json);
    add_device(json, *device_);
    for (const auto& [key, library] : {std::pair("base", &base), std::pair("head", &head)})
      json.key(key)
          .begin_object()
          .member("library", library->path().string())
          .member("version", library->version())
          .end_object();
    const track::CompareOptions& options = comparison_.options();
    json.member("false_alarms", options.false_alarms).member("smallest", options.smallest);
    json.member("power", options.power).member("ignored", options.ignored);
    json.member("seconds", seconds_).member("blocks", blocks_);
    json.key("cases").begin_array();
    for (size_t i = 0; i < results_.size(); ++i) write_case(json, i);
    json.end_array().end_object();
    write_file_atomic(options_.json, json.text() + "\n");
  }

 private:
  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void write_case(JsonWriter& json, size_t i) const {
    const CaseResult& result = results_[i];
    const Duels::Case& one = duels_.at(i);
    json.begin_object().member("name", result.name);
    json.member("verdict", track::name(result.verdict)).member("reason", result.reason);
    json.member("ratio", result.effect.ratio).key("interval").begin_array();
    json.value(result.effect.low).value(result.effect.high).end_array();
    json.member("deviation", result.effect.deviation).member("blocks", result.effect.blocks);
    json.member("p", result.p).member("visible", result.visible);
    json.member("difference_of_results", one.difference);
    for (const auto& [key, side] : {std::pair("base", &one.base), std::pair("head", &one.head)}) {
      json.key(key).begin_object().member("seconds", side->seconds);
      if (side->contestant) {
        const CaseFacts& facts = side->contestant->facts();
        json.member("launches", facts.launches).member("arena_bytes", facts.arena_bytes);
        json.member("constant_bytes", facts.constant_bytes);
        json.member("compile_seconds", facts.compile_seconds);
      }
      json.end_object();
    }
    json.end_object();
  }

  const Options& options_;
  std::vector<TrackCase> cases_;
  track::Comparison comparison_;
  std::shared_ptr<runtime::Device> device_;
  Told told_;
  Duels duels_;
  std::vector<CaseResult> results_;
  double seconds_ = 0;
  size_t blocks_ = 0;
};

int compare_main(const Options& options) {
  check_can_write("--results", options.json);
  const Library base(options.base), head(options.head);
  if (base.path() == head.path())
    fail_input(base.path().string(),
               ": is both base and head; tcc-track calibrate compares a "
               "library with itself");
  Run run(options, base, head);
  run.measure();
  run.print_table();
  const std::vector<std::string> grown = run.grown();
  for (const std::string& line : grown) std::cout << "more: " << printable(line) << "\n";
  const size_t slower = run.count(Verdict::slower), failed = run.count(Verdict::failed);
  std::cout << slower << " slower, " << run.count(Verdict::faster) << " faster, "
            << run.count(Verdict::same) << " same, " << run.count(Verdict::unmeasurable)
            << " not measurable, " << failed << " failed. Without any change, a run like this "
            << "reports one with a probability of " << options.false_alarms_percent
            << "% at most; changes of a case's \"visible\" are seen with 95%.\n";
  run.write_json(base, head);
  return slower + failed + grown.size() > 0 || interrupted ? 1 : 0;
}

int calibrate_main(const Options& options) {
  check_can_write("--results", options.json);
  const Library base(options.base);
  const LibraryCopy copy(base.path());
  const Library head(copy.path());
  Run run(options, base, head);
  double visible = 0;
  for (const CaseResult& result : run.measure()) visible = std::max(visible, result.visible);
  run.print_table();
  const size_t alarms = run.count(Verdict::slower) + run.count(Verdict::faster);
  std::cout << "A library against itself: " << alarms << " of " << run.results().size()
            << " cases reported a change";
  if (visible > 0)
    std::cout << ". With up to " << options.most_blocks << " blocks of a case, every case of the "
              << "suite sees a change of " << share(visible) << " with 95%; --smallest "
              << std::ceil(visible * 1000) / 10 << " asks for that";
  std::cout << ".\n";
  run.write_json(base, head);
  return run.count(Verdict::failed) > 0 || interrupted ? 1 : 0;
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "compare", "Two builds of tcc against each other, in one process on one device.");
  app->add_option("BASE", options->base, "libtcc-core.so, a build folder or an installation")
      ->required();
  app->add_option("HEAD", options->head, "the same, of what is to be judged")->required();
  add_options(*app, *options);
  return {app, [options] { return compare_main(*options); }};
}

Command add_calibrate(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "calibrate", "A build of tcc against itself: what can be seen on this machine.");
  app->add_option("LIBRARY", options->base, "libtcc-core.so, a build folder or an installation")
      ->required();
  add_options(*app, *options);
  return {app, [options] { return calibrate_main(*options); }};
}

}  // namespace tcc::tools
