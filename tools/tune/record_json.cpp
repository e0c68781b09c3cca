#include "tools/tune/record_json.h"

#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

// "" and 0 are what a record does not know.
void write_known(JsonWriter& json, std::string_view key, double number) {
  json.key(key);
  if (number > 0)
    json.value(number);
  else
    json.null();
}

void write_interval(JsonWriter& json, double low, double high) {
  json.key("interval");
  if (high <= 0) {
    json.null();
    return;
  }
  json.begin_array().value(low).value(high).end_array();
}

}  // namespace

void write_record(JsonWriter& json, const autotune::Record& record) {
  json.begin_object()
      .member("template", record.key.kernel_template)
      .member("version", record.key.version)
      .member("region", record.key.region)
      .member("target", record.key.device)
      .member("name", record.name)
      .member("operands", record.operands)
      .member("family", record.family)
      .key("extents")
      .begin_array();
  for (const int64_t extent : record.extents) json.value(extent);
  json.end_array()
      .member("device", record.environment.device)
      .member("driver", record.environment.driver)
      .member("compiler", record.environment.compiler)
      .member("measured_by", record.tcc)
      .member("date", record.date)
      .member("policy", record.policy);
  write_config(json, "config", record.best);
  json.member("seconds", record.seconds);
  write_interval(json, record.low, record.high);
  write_known(json, "default_seconds", record.default_seconds);
  json.member("samples", record.samples).member("error", record.error);
  json.key("runners_up").begin_array();
  for (const autotune::RunnerUp& rival : record.runners_up) {
    json.begin_object();
    write_config(json, "config", rival.config);
    write_known(json, "seconds", rival.seconds);
    write_interval(json, rival.low, rival.high);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_plan(JsonWriter& json, const autotune::PlanRecord& plan) {
  json.begin_object()
      .member("site", plan.key.kind)
      .member("key", plan.key.site)
      .member("target", plan.key.device)
      .member("name", plan.description)
      .member("choice", plan.choice)
      .member("default", plan.default_choice)
      .key("seconds")
      .begin_object();
  for (const auto& [choice, seconds] : plan.seconds) json.member(std::to_string(choice), seconds);
  json.end_object()
      .member("device", plan.measured_on)
      .member("driver", plan.driver)
      .member("measured_by", plan.tcc)
      .member("date", plan.date)
      .end_object();
}

}  // namespace tcc::tools
