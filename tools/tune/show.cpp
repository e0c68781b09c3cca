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
#include "tools/tune/record_options.h"

namespace tcc::tools {
namespace {

using autotune::Record;

struct ShowOptions {
  std::vector<std::string> paths;
  std::string device, kernel_template;
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

std::string gain(const Record& record) {
  if (record.default_seconds <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", record.default_seconds / record.seconds);
  return text;
}

void print_plans(const ShowOptions& options) {
  if (!options.kernel_template.empty()) return;  // kernels were asked for
  autotune::PlanStore plans =
      options.paths.empty() ? autotune::load_plans({}, print_warning) : autotune::PlanStore();
  for (const std::string& path : options.paths)
    autotune::read_plan_path(path, plans, print_warning);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, plan] : plans.records()) {
    if (!is_of_device(key.device, plan.measured_on, options.device)) continue;
    char gain[32];
    std::snprintf(gain, sizeof gain, "%.2fx", 1 / plan.ratio());
    rows.push_back({key.kind, plan.description, key.device, std::to_string(plan.choice),
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

// By template, kernel and its types, sizes, then device.
std::vector<const Record*> sorted(const autotune::RecordStore& store) {
  std::vector<const Record*> records;
  for (const auto& [key, record] : store.records()) records.push_back(&record);
  const auto order = [](const Record* record) {
    return std::tuple(record->key.kernel_template, record->name, without_sizes(record->operands),
                      record->extents, record->operands, record->key);
  };
  std::ranges::sort(records, {}, order);
  return records;
}

void print_records(const ShowOptions& options) {
  autotune::RecordStore store = options.paths.empty() ? autotune::load_records({}, print_warning)
                                                      : join_records(options.paths);
  std::vector<std::vector<std::string>> rows;
  for (const Record* pointer : sorted(store)) {
    const Record& record = *pointer;
    const autotune::RecordKey& key = record.key;
    if (!is_of_device(key.device, record.environment.device, options.device)) continue;
    if (!options.kernel_template.empty() && key.kernel_template != options.kernel_template)
      continue;
    rows.push_back({key.kernel_template, record.name, record.operands, key.device,
                    format_seconds(record.seconds), spread(record), gain(record),
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

int show(const ShowOptions& options) {
  print_records(options);
  print_plans(options);
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
  return {app, [options] { return show(*options); }};
}

}  // namespace tcc::tools
