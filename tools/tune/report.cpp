#include "tools/tune/report.h"

#include <cmath>
#include <map>

#include "support/error.h"
#include "tools/page/page.h"
#include "tools/run_info.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using autotune::LoggedTrial;
using autotune::TuneResult;
using Status = autotune::Measurement::Status;

bool is_timed(const LoggedTrial& trial) {
  return trial.result.status == Status::measured && trial.result.seconds > 0;
}

struct Mean {
  double sum = 0;
  int count = 0;
  void add(double value) { sum += value, ++count; }
  double value() const { return sum / count; }
};

// Between the values' means over all of the variance.
double explained(const std::vector<const LoggedTrial*>& trials, const std::string& parameter) {
  Mean all;
  std::map<int64_t, Mean> by_value;
  for (const LoggedTrial* trial : trials) {
    const double value = std::log(trial->result.seconds);
    all.add(value);
    by_value[trial->config[parameter]].add(value);
  }
  double variance = 0, between = 0;
  for (const LoggedTrial* trial : trials) {
    variance += std::pow(std::log(trial->result.seconds) - all.value(), 2);
    between += std::pow(by_value[trial->config[parameter]].value() - all.value(), 2);
  }
  return variance > 0 ? between / variance : 0;
}

void write_trial(JsonWriter& json, const KernelResult& kernel, const LoggedTrial& trial) {
  json.begin_object()
      .member("status", autotune::name(trial.result.status))
      .member("quick", trial.effort == autotune::Effort::quick)
      .member("seconds", trial.result.seconds)
      .member("low", trial.result.low)
      .member("high", trial.result.high);
  if (!trial.result.reason.empty()) json.member("reason", trial.result.reason);
  json.key("config").begin_array();
  for (const sched::Parameter& parameter : kernel.task.space.parameters) {
    if (trial.config.has(parameter.name))
      json.value(trial.config[parameter.name]);
    else
      json.null();
  }
  json.end_array().end_object();
}

void write_trials(JsonWriter& json, const KernelResult& kernel) {
  const std::vector<double> influence = parameter_influence(kernel);
  json.key("parameters").begin_array();
  for (size_t i = 0; i < influence.size(); ++i)
    json.begin_object()
        .member("name", kernel.task.space.parameters[i].name)
        .member("doc", kernel.task.space.parameters[i].doc)
        .member("influence", influence[i])
        .end_object();
  json.end_array().key("trials").begin_array();
  for (const LoggedTrial& trial : kernel.trials) write_trial(json, kernel, trial);
  json.end_array();
}

// A time that is not known is null.
void write_seconds(JsonWriter& json, std::string_view key, double seconds) {
  json.key(key);
  if (seconds > 0)
    json.value(seconds);
  else
    json.null();
}

void write_kernel(JsonWriter& json, const KernelResult& kernel, bool with_trials) {
  size_t failed = 0;
  for (const Status status : {Status::wrong, Status::refused, Status::hung, Status::crashed})
    failed += kernel.count(status);
  json.begin_object()
      .member("name", kernel.task.name)
      .member("operands", kernel.task.operands)
      .member("output", kernel.output)
      .member("template", kernel.task.key.kernel_template)
      .member("region", kernel.task.key.region)
      .member("device", kernel.device)
      .member("launches", kernel.launches)
      .member("space", kernel.space_size)
      .member("tried", kernel.trials.size())
      .member("failed", failed)
      .member("resumed", kernel.resumed)
      .member("flops", kernel.flops)
      .member("bytes", kernel.bytes)
      .member("tier", sched::name(kernel.today.tier));
  write_seconds(json, "default_seconds", kernel.default_seconds);
  write_seconds(json, "today_seconds", kernel.today_seconds);
  write_seconds(json, "best_seconds", kernel.best_seconds);
  write_seconds(json, "bound_seconds", kernel.task.bound_seconds);
  json.member("wall_seconds", kernel.wall_seconds)
      .member("compile_seconds", kernel.compile_seconds)
      .member("ended", kernel.ended)
      .member("kept", kernel.kept)
      .member("saved", kernel.record.has_value())
      .member("error", kernel.error);
  write_config(json, "default_config", kernel.task.default_config);
  write_config(json, "today_config", kernel.today.config);
  write_config(json, "best_config", kernel.best_config);
  if (with_trials) write_trials(json, kernel);
  json.end_object();
}

void write_batch(JsonWriter& json, const TuneResult& result, const Batch& batch) {
  const Total sum = total(result, batch);
  json.begin_object().member("name", batch.label);
  write_seconds(json, "today_seconds", sum.today_seconds);
  write_seconds(json, "best_seconds", sum.best_seconds);
  // The launches are in the order of the report's kernels.
  json.key("launches").begin_array();
  for (const KernelResult& kernel : result.kernels) {
    const auto launches = batch.launches.find(kernel.task.key);
    json.value(launches == batch.launches.end() ? 0 : launches->second);
  }
  json.end_array().end_object();
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

std::vector<double> parameter_influence(const KernelResult& kernel) {
  std::vector<double> influence;
  for (const sched::Parameter& parameter : kernel.task.space.parameters) {
    std::vector<const LoggedTrial*> timed;
    for (const LoggedTrial& trial : kernel.trials)
      if (is_timed(trial) && trial.config.has(parameter.name)) timed.push_back(&trial);
    influence.push_back(explained(timed, parameter.name));
  }
  return influence;
}

void begin_report(JsonWriter& json, std::string_view kind) {
  json.begin_object().member("tcc_tune", kTuneReportSchema).member("kind", kind);
  add_made_by(json);
}

void write_config(JsonWriter& json, std::string_view key, const sched::Config& config) {
  json.key(key).begin_object();
  for (const auto& [name, value] : config.values()) json.member(name, value);
  json.end_object();
}

std::string report_json(const TuneResult& result, const SweepReport& report, bool with_trials) {
  JsonWriter json(with_trials ? JsonWriter::Style::compact : JsonWriter::Style::indented);
  begin_report(json, "sweep");
  json.member("title", report.title);
  if (report.device)
    add_device(json, *report.device);
  else
    json.key("device").null();
  json.key("options").begin_object();
  for (const auto& [name, value] : report.options) json.member(name, value);
  json.end_object()
      .member("wall_seconds", result.wall_seconds)
      .member("candidates_per_second", candidates_per_second(result))
      .member("compile_utilization", compile_utilization(result))
      .member("compile_threads", result.compile_threads)
      .member("workers_replaced", result.workers_replaced)
      .member("interrupted", result.interrupted)
      .key("batches")
      .begin_array();
  for (const Batch& batch : report.batches) write_batch(json, result, batch);
  json.end_array().key("kernels").begin_array();
  for (const KernelResult& kernel : result.kernels) write_kernel(json, kernel, with_trials);
  json.end_array().key("files").begin_array();
  for (const std::string& file : report.files) json.value(file);
  json.end_array().end_object();
  return replaced(json.text(), "<", "\\u003c");
}

std::string report_page(const TuneResult& result, const SweepReport& report) {
  return filled_page(tune_page(), report_json(result, report, true));
}

}  // namespace tcc::tools
