#include "tools/tune/report.h"

#include <cmath>
#include <map>

#include "support/error.h"
#include "support/json_writer.h"
#include "tools/tune/report_template.h"
#include "tools/tune/summary.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using autotune::LoggedTrial;
using Status = autotune::Measurement::Status;

constexpr std::string_view kPlaceholder = "{{data}}";

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

void write_config(JsonWriter& json, std::string_view key, const sched::Config& config) {
  json.key(key).begin_object();
  for (const auto& [name, value] : config.values()) json.member(name, value);
  json.end_object();
}

void write_kernel(JsonWriter& json, const KernelResult& kernel) {
  json.begin_object()
      .member("name", kernel.task.name)
      .member("operands", kernel.task.operands)
      .member("output", kernel.output)
      .member("template", kernel.task.key.kernel_template)
      .member("key", kernel.task.key.region)
      .member("device", kernel.device)
      .member("launches", kernel.launches)
      .member("space", kernel.space_size)
      .member("resumed", kernel.resumed)
      .member("flops", kernel.flops)
      .member("bytes", kernel.bytes)
      .member("default_seconds", kernel.default_seconds)
      .member("best_seconds", kernel.best_seconds)
      .member("bound_seconds", kernel.task.bound_seconds)
      .member("wall_seconds", kernel.wall_seconds)
      .member("compile_seconds", kernel.compile_seconds)
      .member("ended", kernel.ended)
      .member("error", kernel.error);
  write_config(json, "default_config", kernel.task.default_config);
  write_config(json, "best_config", kernel.best_config);
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

std::string report_json(const autotune::TuneResult& result, const std::string& title) {
  JsonWriter json;
  json.begin_object()
      .member("title", title)
      .member("tcc", TCC_VERSION)
      .member("wall_seconds", result.wall_seconds)
      .member("candidates_per_second", candidates_per_second(result))
      .member("compile_utilization", compile_utilization(result))
      .member("compile_threads", result.compile_threads)
      .member("workers_replaced", result.workers_replaced)
      .member("interrupted", result.interrupted)
      .key("kernels")
      .begin_array();
  for (const KernelResult& kernel : result.kernels) write_kernel(json, kernel);
  json.end_array().end_object();
  return replaced(json.text(), "<", "\\u003c");
}

std::string report_page(const autotune::TuneResult& result, const std::string& title) {
  std::string page(report_template());
  const size_t at = page.find(kPlaceholder);
  TCC_CHECK(at != std::string::npos, "the page has no place for its data");
  page.replace(at, kPlaceholder.size(), report_json(result, title));
  return page;
}

}  // namespace tcc::tools
