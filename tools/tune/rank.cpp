#include "tools/tune/rank.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <tuple>

#include "autotune/random_words.h"
#include "runtime/kernel_report.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

constexpr size_t kShown = 5;  // beside the default
constexpr size_t kMostLegal = 200'000;

using By = RankedKernel::By;

// The default, then random configs.
std::vector<RankedConfig> draw_configs(const autotune::Tunable& kernel, size_t most,
                                       size_t& legal) {
  autotune::RandomWords random(1);
  std::vector<RankedConfig> all = {{.config = kernel.default_config, .is_default = true}};
  for (sched::Config& config : kernel.space.draw([&] { return random.next(); }, most))
    if (config != kernel.default_config && all.size() < most)
      all.push_back({.config = std::move(config)});
  legal = 0;
  kernel.space.enumerate([&](const sched::Config&) { return ++legal < kMostLegal; });
  return all;
}

// The default, then the configs with the shortest estimates.
std::vector<RankedConfig> choose_configs(const autotune::Tunable& kernel, size_t most,
                                         size_t& legal) {
  std::vector<RankedConfig> others;
  const auto& estimate = kernel.estimate;
  const auto is_better = [](const RankedConfig& a, const RankedConfig& b) {
    return std::tie(a.estimate, a.config) < std::tie(b.estimate, b.config);
  };
  legal = 0;
  kernel.space.enumerate([&](const sched::Config& config) {
    if (config != kernel.default_config)
      others.push_back({.config = config, .estimate = estimate(config)});
    if (others.size() >= 4 * most + 64) {
      std::ranges::nth_element(others, others.begin() + static_cast<ptrdiff_t>(most), is_better);
      others.resize(most);
    }
    return ++legal < kMostLegal;
  });
  std::ranges::sort(others, is_better);
  if (others.size() + 1 > most) others.resize(most - 1);
  others.insert(others.begin(), {.config = kernel.default_config,
                                 .estimate = estimate(kernel.default_config),
                                 .is_default = true});
  return others;
}

std::string number(int64_t value) { return value < 0 ? "-" : std::to_string(value); }

// The compiler's cycles of a kernel's subgroups in all, or -1.
double cycles_of(const exec::StandaloneKernel& kernel, const runtime::KernelReport& report,
                 int subgroup) {
  const int64_t one = report.throughput >= 0 ? report.throughput : report.latency;
  if (one < 0) return -1;
  double cycles = static_cast<double>(one) *
                  static_cast<double>(ceil_div(kernel.workgroup, std::max(1, subgroup)));
  for (const ir::SymInt& extent : kernel.grid)
    if (extent.is_const()) cycles *= static_cast<double>(extent.value());
  return cycles;
}

// Compiles and loads the config.
void load(RankedConfig& config, const autotune::Tunable& kernel, runtime::Device& device) try {
  double sum = 0;
  bool has_all = true;
  for (const auto& launch : kernel.compile(config.config).launches) {
    config.kernels.push_back(device.load(launch.kernel)->report());
    const int required = launch.kernel.subgroup_size;
    const double cycles = cycles_of(launch.kernel, config.kernels.back(),
                                    required > 0 ? required : device.target().subgroup_size);
    has_all = has_all && cycles >= 0;
    sum += cycles * (launch.times.is_const() ? static_cast<double>(launch.times.value()) : 1);
  }
  if (has_all) config.cycles = sum;
} catch (const Error& error) { config.refused = error.what(); }

std::string estimate_text(const RankedConfig& config, By by) {
  if (by == By::cost_model) return format_seconds(config.estimate);
  if (by == By::nothing || config.cycles < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g cycles", config.cycles);
  return text;
}

std::vector<std::string> row_of(const RankedConfig& config, By by) {
  constexpr size_t kMostReason = 80;
  runtime::KernelReport sum;
  for (const runtime::KernelReport& one : config.kernels) sum = runtime::joined(sum, one);
  const bool has_bytes = sum.code_bytes >= 0;
  std::string what = config.config.to_string() + (config.is_default ? "  (default)" : "");
  if (!config.refused.empty()) what += "  refused: " + config.refused.substr(0, kMostReason);
  return {estimate_text(config, by),
          number(sum.registers),
          number(sum.spilled),
          number(sum.subgroups),
          has_bytes ? format_bytes(static_cast<double>(sum.code_bytes)) : "-",
          number(sum.latency),
          number(sum.throughput),
          std::move(what)};
}

void write_known(JsonWriter& json, std::string_view key, double value, bool is_known) {
  json.key(key);
  if (is_known)
    json.value(value);
  else
    json.null();
}

}  // namespace

int64_t RankedConfig::spilled() const {
  int64_t sum = 0;
  for (const runtime::KernelReport& one : kernels) sum += std::max<int64_t>(0, one.spilled);
  return sum;
}

RankedKernel rank_configs(const autotune::Tunable& kernel, runtime::Device& device, size_t most) {
  RankedKernel ranked{kernel.name, kernel.key.kernel_template, kernel.operands, {}, 0};
  most = std::max<size_t>(2, most);
  ranked.configs = kernel.estimate ? choose_configs(kernel, most, ranked.legal)
                                   : draw_configs(kernel, most, ranked.legal);
  parallel_for(0, std::ssize(ranked.configs), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      load(ranked.configs[static_cast<size_t>(i)], kernel, device);
  });
  if (!kernel.estimate) {
    const bool has_cycles = std::ranges::any_of(
        ranked.configs, [](const RankedConfig& config) { return config.cycles >= 0; });
    ranked.by = has_cycles ? By::compiler : By::nothing;
  }
  std::ranges::stable_sort(ranked.configs, {}, [&](const RankedConfig& config) {
    const bool is_unknown = ranked.by == By::compiler && config.cycles < 0;
    return std::tuple(!config.refused.empty(), config.spilled() > 0, is_unknown,
                      ranked.by == By::compiler ? config.cycles : config.estimate);
  });
  return ranked;
}

void print_ranking(std::ostream& out, const RankedKernel& kernel) {
  size_t spilling = 0, refused = 0;
  for (const RankedConfig& config : kernel.configs) {
    spilling += config.spilled() > 0;
    refused += !config.refused.empty();
  }
  out << kernel.name << " [" << kernel.kernel_template << "] " << kernel.operands << "\n  "
      << counted(kernel.configs.size(), "config") << " of " << kernel.legal << " compiled, "
      << spilling << " spill registers";
  if (refused > 0) out << ", " << refused << " refused";
  out << "\n";
  if (kernel.by == By::compiler)
    out << "  no cost model: random configs, by the compiler's cycles of a subgroup times the "
           "subgroups of the launch (a few iterations of every loop count)\n";
  if (kernel.by == By::nothing)
    out << "  no cost model, and the driver gives no estimate: random configs, in no order\n";
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < kernel.configs.size(); ++i)
    if (i < kShown || kernel.configs[i].is_default)
      rows.push_back(row_of(kernel.configs[i], kernel.by));
  out << format_table(
      {"estimate", "registers", "spilled", "subgroups", "code", "latency", "throughput", "config"},
      rows);
}

void add_ranking(JsonWriter& json, const RankedKernel& kernel) {
  json.begin_object()
      .member("name", kernel.name)
      .member("template", kernel.kernel_template)
      .member("operands", kernel.operands)
      .key("configs")
      .begin_array();
  for (const RankedConfig& config : kernel.configs) {
    json.begin_object();
    write_config(json, "config", config.config);
    write_known(json, "estimate", config.estimate, kernel.by == By::cost_model);
    write_known(json, "cycles", config.cycles, kernel.by == By::compiler && config.cycles >= 0);
    json.member("default", config.is_default);
    json.key("refused");
    if (config.refused.empty())
      json.null();
    else
      json.value(config.refused);
    json.key("kernels").begin_array();
    for (const runtime::KernelReport& report : config.kernels) {
      json.begin_object();
      for (const auto& [name, value] : runtime::named_values(report)) {
        json.key(name);
        if (value < 0)
          json.null();
        else
          json.value(value);
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

}  // namespace tcc::tools
