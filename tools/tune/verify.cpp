#include "tools/tune/verify.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "autotune/plan_records.h"
#include "autotune/record_file.h"
#include "autotune/tunable.h"
#include "autotune/tune.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/run_info.h"
#include "tools/tune/commands.h"
#include "tools/tune/options.h"
#include "tools/tune/record_options.h"
#include "tools/tune/report.h"
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
  bool json = false;
};

bool fails(const Measurement& measurement) {
  return measurement.status != Status::measured && measurement.status != Status::slow;
}

bool beats(const std::optional<autotune::DuelResult>& duel, double threshold) {
  return duel && duel->valid && duel->pairs >= autotune::kFewestForOrder &&
         duel->interval.high < 1 && duel->ratio * (1 + threshold) < 1;
}

// "+3.1%".
std::string drift_text(double now, double recorded) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f%%", 100 * (now / recorded - 1));
  return text;
}

std::string rival_text(const std::optional<autotune::DuelResult>& duel) {
  if (!duel) return "-";
  if (!duel->valid) return std::string(autotune::name(duel->challenger.status));
  return time_text(duel->challenger.seconds) + " (" + gain_text(duel->ratio) + ")";
}

// The records of one file or folder, those that take precedence last.
struct Layer {
  std::filesystem::path path;
  autotune::RecordStore records;
};

class Verify {
 public:
  explicit Verify(const VerifyOptions& options) : options_(options) {}

  int run() {
    check_any_named(options_.graphs);
    const auto device = runtime::open_device(options_.device);
    const std::string name = device->name();
    const sched::Target target = device->target();
    load_layers();
    const autotune::PlanStore plans =
        autotune::load_plans({options_.tuning.begin(), options_.tuning.end()}, log_tuning_warning);
    compile_.cache = &cache_;
    compile_.plan = &plans;
    DimLists dims(options_.graphs.dims);
    const auto graphs = schedule_graphs(options_.graphs, dims, target, compile_);
    const auto own = user_tunables(options_.graphs, dims, target, compile_);
    dims.check_all_used();
    pool_ = autotune::make_worker_pool(name);
    size_t missing = 0;
    const auto check = [&](const Tunable& kernel) {
      const size_t layer = layer_of(kernel.key);
      if (layer == layers_.size())
        ++missing;
      else
        add(kernel, layer);
    };
    for (const autotune::TuningTask& task : autotune::tuning_tasks(graphs))
      check(autotune::tunable_of(task, compile_));
    for (const Tunable& kernel : own) check(kernel);
    if (options_.json)
      print_json(*device, missing);
    else
      print_table(name, missing);
    if (results_.empty()) {
      std::cerr << "tcc-tune: nothing was verified: none of the kernels has a record for "
                << target.id() << "\n";
      return static_cast<int>(ErrorKind::check_failed);
    }
    return regressions() > 0 ? static_cast<int>(ErrorKind::check_failed) : 0;
  }

 private:
  struct Result {
    std::string name, output, kernel_template, region;
    double recorded = 0, now = 0;
    std::filesystem::path path;
    Verified verified;
    std::string reason;  // to tune it again
  };

  void load_layers() {
    std::vector<std::filesystem::path> paths = autotune::default_tuning_folders(log_tuning_warning);
    for (const std::string& path : options_.tuning) {
      std::error_code error;
      if (!std::filesystem::exists(path, error)) fail_input(path, ": no such file or folder");
      paths.emplace_back(path);
    }
    for (const std::filesystem::path& path : paths) {
      layers_.push_back({path, {}});
      autotune::read_record_path(path, layers_.back().records, log_tuning_warning);
    }
  }

  // Gives the layer whose record of the kernel is used; layers_.size(): there is none.
  size_t layer_of(const autotune::RecordKey& key) const {
    for (size_t i = layers_.size(); i-- > 0;)
      if (layers_[i].records.records().count(key)) return i;
    return layers_.size();
  }

  sched::Config shadowed(const Tunable& tunable, size_t layer) const {
    autotune::RecordStore below;
    for (size_t i = 0; i < layer; ++i) below.override_with(layers_[i].records);
    return tunable.choose ? tunable.choose(below).config : tunable.default_config;
  }

  void add(const Tunable& tunable, size_t layer) {
    const Record& record = layers_[layer].records.records().at(tunable.key);
    Result result{tunable.name,
                  tunable.output,
                  tunable.key.kernel_template,
                  tunable.key.region,
                  record.seconds,
                  0,
                  layers_[layer].path,
                  verify(tunable, record, shadowed(tunable, layer)),
                  ""};
    result.reason = regression(result.verified, options_.threshold_percent / 100);
    result.now = result.verified.incumbent.seconds;
    if (const auto& duel = result.verified.against_default; duel && duel->valid)
      result.now = duel->incumbent.seconds;
    results_.push_back(std::move(result));
  }

  int regressions() const {
    return static_cast<int>(
        std::ranges::count_if(results_, [](const Result& r) { return !r.reason.empty(); }));
  }

  void print_table(const std::string& device, size_t missing) const {
    std::vector<std::vector<std::string>> rows;
    for (const Result& result : results_)
      rows.push_back({result.name, result.output, time_text(result.recorded), time_text(result.now),
                      result.now > 0 ? drift_text(result.now, result.recorded) : "-",
                      rival_text(result.verified.against_default),
                      rival_text(result.verified.against_shadowed),
                      rival_text(result.verified.against_runner_up),
                      result.reason.empty() ? "ok" : result.reason});
    if (!rows.empty())
      std::cout << format_table({"kernel", "output", "recorded", "now", "drift", "default",
                                 "shadowed", "runner-up", "verdict"},
                                rows);
    std::cout << device << ": " << counted(results_.size(), "record") << " verified, "
              << regressions() << " to be tuned again; " << counted(missing, "kernel")
              << (missing == 1 ? " has" : " have") << " no record\n";
  }

  static void write_rival(JsonWriter& json, std::string_view key,
                          const std::optional<autotune::DuelResult>& duel) {
    json.key(key);
    if (!duel || !duel->valid) {
      json.null();
      return;
    }
    json.begin_object()
        .member("seconds", duel->challenger.seconds)
        .member("incumbent_seconds", duel->incumbent.seconds)
        .member("ratio", duel->ratio)
        .key("interval")
        .begin_array()
        .value(duel->interval.low)
        .value(duel->interval.high)
        .end_array()
        .member("pairs", duel->pairs)
        .end_object();
  }

  void print_json(const runtime::Device& device, size_t missing) const {
    JsonWriter json(JsonWriter::Style::indented);
    begin_report(json, "verify");
    add_device(json, device);
    json.member("threshold", options_.threshold_percent / 100).key("records").begin_array();
    for (const Result& result : results_) {
      json.begin_object()
          .member("name", result.name)
          .member("output", result.output)
          .member("template", result.kernel_template)
          .member("region", result.region)
          .member("path", result.path.string())
          .member("recorded_seconds", result.recorded)
          .member("seconds", result.now)
          .member("status", autotune::name(result.verified.incumbent.status));
      write_rival(json, "default", result.verified.against_default);
      write_rival(json, "shadowed", result.verified.against_shadowed);
      write_rival(json, "runner_up", result.verified.against_runner_up);
      json.member("ok", result.reason.empty()).member("reason", result.reason).end_object();
    }
    json.end_array().member("without_record", missing).end_object();
    std::cout << json.text() << "\n";
  }

  Verified verify(const Tunable& tunable, const Record& record, const sched::Config& shadowed) {
    Verified verified;
    verified.incumbent.reason = tunable.space.violation(record.best);
    if (!verified.incumbent.reason.empty()) return verified;  // refused
    const auto bench = pool_->bench(tunable.job(options_.seed));
    const exec::StandaloneSequence standard = tunable.compile(tunable.default_config);
    verified.incumbent = bench->baseline(tunable.expected ? tunable.expected() : standard);
    if (fails(verified.incumbent)) {
      verified.incumbent.reason =
          str(tunable.expected ? "what checks it: " : "the default config: ",
              verified.incumbent.reason);
      return verified;
    }
    const bool is_default = record.best == tunable.default_config;
    const exec::StandaloneSequence incumbent = is_default ? standard : tunable.compile(record.best);
    if (!is_default || tunable.expected) {
      verified.incumbent = measure(*bench, incumbent);
      if (fails(verified.incumbent)) return verified;
    }
    if (!is_default) verified.against_default = autotune::duel(*bench, incumbent, standard);
    if (shadowed != record.best && shadowed != tunable.default_config) {
      const exec::StandaloneSequence kernel = tunable.compile(shadowed);
      if (!fails(measure(*bench, kernel)))
        verified.against_shadowed = autotune::duel(*bench, incumbent, kernel);
    }
    for (const autotune::RunnerUp& rival : record.runners_up) {
      if (rival.config == tunable.default_config || !tunable.space.violation(rival.config).empty())
        continue;
      const exec::StandaloneSequence kernel = tunable.compile(rival.config);
      if (!fails(measure(*bench, kernel)))
        verified.against_runner_up = autotune::duel(*bench, incumbent, kernel);
      break;
    }
    return verified;
  }

  static Measurement measure(autotune::Bench& bench, const exec::StandaloneSequence& kernel) {
    return bench.measure(kernel, autotune::Effort::full, std::numeric_limits<double>::infinity());
  }

  const VerifyOptions& options_;
  backends::KernelCache cache_;
  backends::CompileOptions compile_;
  std::unique_ptr<autotune::WorkerPool> pool_;
  std::vector<Layer> layers_;
  std::vector<Result> results_;
};

}  // namespace

std::string regression(const Verified& verified, double threshold) {
  if (fails(verified.incumbent))
    return str(autotune::name(verified.incumbent.status), ": ", verified.incumbent.reason);
  if (beats(verified.against_default, threshold)) return "slower than the default";
  if (beats(verified.against_shadowed, threshold)) return "slower than what it shadows";
  if (beats(verified.against_runner_up, threshold)) return "slower than the runner-up";
  return "";
}

Command add_verify(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "verify",
      "Measures the records of kernels again, beside the default, what "
      "they shadow and the runner-up; exits 1 when one is slower, or when there is none");
  auto options = std::make_shared<VerifyOptions>();
  add_graph_options(*app, options->graphs);
  app->add_option("--device", options->device, "auto, cuda:N or vulkan:N")->capture_default_str();
  app->add_option("--tuning", options->tuning, "folder or file of tuning records; several")
      ->allow_extra_args(false);
  app->add_option("--threshold", options->threshold_percent,
                  "how much faster another config must be, in percent")
      ->capture_default_str()
      ->check(number_in(0.0, 1000.0));
  app->add_option("--seed", options->seed, "of the data")->capture_default_str();
  app->add_flag("--json", options->json, "print one JSON object");
  return {app, [options] { return Verify(*options).run(); }};
}

}  // namespace tcc::tools
