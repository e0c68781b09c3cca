// tcc-tune show: records as a table.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <tuple>

#include "autotune/plan_records.h"
#include "autotune/records.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/commands.h"
#include "tools/tune/record_json.h"
#include "tools/tune/record_options.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

using autotune::Record;

struct ShowOptions {
  std::vector<std::string> paths;
  std::string device, kernel_template;
  bool json = false;
};

// "cuda", "cuda:sm_90a" and "H200" all name an H200's records.
bool is_of_device(const std::string& target, const std::string& measured_on,
                  const std::string& device) {
  return device.empty() || target == device || target.starts_with(device + ":") ||
         measured_on.find(device) != std::string::npos;
}

// Half the interval, as a share of the median.
std::string spread(const Record& record) {
  if (record.high <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 50 * (record.high - record.low) / record.seconds);
  return text;
}

std::string gain_of(const Record& record) {
  if (record.default_seconds <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", record.default_seconds / record.seconds);
  return text;
}

std::vector<autotune::PlanRecord> plans_of(const ShowOptions& options) {
  std::vector<autotune::PlanRecord> all;
  if (!options.kernel_template.empty()) return all;  // kernels were asked for
  autotune::PlanStore plans =
      options.paths.empty() ? autotune::load_plans({}, log_tuning_warning) : autotune::PlanStore();
  for (const std::string& path : options.paths)
    autotune::read_plan_path(path, plans, log_tuning_warning);
  for (const auto& [key, plan] : plans.records())
    if (is_of_device(key.device, plan.measured_on, options.device)) all.push_back(plan);
  return all;
}

void print_plans(const std::vector<autotune::PlanRecord>& plans) {
  std::vector<std::vector<std::string>> rows;
  for (const autotune::PlanRecord& plan : plans) {
    char gain[32];
    std::snprintf(gain, sizeof gain, "%.2fx", 1 / plan.ratio());
    rows.push_back({plan.key.kind, plan.description, plan.key.device, std::to_string(plan.choice),
                    std::to_string(plan.default_choice), gain, plan.date});
  }
  if (rows.empty()) return;
  std::cout << format_table({"choice", "where", "target", "chosen", "default", "gain", "date"},
                            rows)
            << counted(rows.size(), "plan") << "\n";
}

// "f32[32, 784] -> f32[32, 512]" without the sizes.
std::string without_sizes(const std::string& operands) {
  std::string types;
  bool in_sizes = false;
  for (const char c : operands) {
    in_sizes |= c == '[' || c == '{';
    if (!in_sizes) types += c;
    in_sizes &= c != ']' && c != '}';
  }
  return types;
}

// Returns the records, sorted by template, kernel and its types, sizes, then device.
std::vector<Record> records_of(const ShowOptions& options) {
  const autotune::RecordStore store = options.paths.empty()
                                          ? autotune::load_records({}, log_tuning_warning)
                                          : join_records(options.paths);
  std::vector<Record> records;
  for (const auto& [key, record] : store.records())
    if (is_of_device(key.device, record.environment.device, options.device) &&
        (options.kernel_template.empty() || key.kernel_template == options.kernel_template))
      records.push_back(record);
  const auto order = [](const Record& record) {
    return std::tuple(record.key.kernel_template, record.name, without_sizes(record.operands),
                      record.extents, record.operands, record.key);
  };
  std::ranges::sort(records, {}, order);
  return records;
}

void print_records(const std::vector<Record>& records) {
  std::vector<std::vector<std::string>> rows;
  for (const Record& record : records) {
    const autotune::RecordKey& key = record.key;
    rows.push_back({key.kernel_template, record.name, record.operands, key.device,
                    format_seconds(record.seconds), spread(record), gain_of(record),
                    std::to_string(record.runners_up.size()), record.date,
                    record.best.to_string()});
  }
  if (rows.empty()) {
    std::cout << "no records\n";
    return;
  }
  std::cout << format_table({"template", "kernel", "operands", "target", "best", "+-", "gain",
                             "runners-up", "date", "config"},
                            rows)
            << counted(rows.size(), "record") << "\n";
}

void print_json(const std::vector<Record>& records,
                const std::vector<autotune::PlanRecord>& plans) {
  JsonWriter json(JsonWriter::Style::indented);
  begin_report(json, "show");
  json.key("records").begin_array();
  for (const Record& record : records) write_record(json, record);
  json.end_array().key("plans").begin_array();
  for (const autotune::PlanRecord& plan : plans) write_plan(json, plan);
  json.end_array().end_object();
  std::cout << json.text() << "\n";
}

int show(const ShowOptions& options) {
  const std::vector<Record> records = records_of(options);
  const std::vector<autotune::PlanRecord> plans = plans_of(options);
  if (options.json) {
    print_json(records, plans);
    return 0;
  }
  print_records(records);
  print_plans(plans);
  return 0;
}

}  // namespace

Command add_show(CLI::App& program) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* app = program.add_subcommand("show", "Prints tuning records as a table");
  app->add_option("PATH", options->paths,
                  "tuning files, and folders of them; default: those that compilation finds");
  app->add_option("--device", options->device, "only of this target or device: cuda:sm_90a, H200");
  app->add_option("--template", options->kernel_template, "only of this kernel template");
  app->add_flag("--json", options->json, "print one JSON object");
  return {app, [options] { return show(*options); }};
}

}  // namespace tcc::tools
