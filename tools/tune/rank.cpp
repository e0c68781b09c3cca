#include "tools/tune/rank.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <tuple>

#include "runtime/kernel_report.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/tune/report.h"

namespace tcc::tools {
namespace {

constexpr size_t kShown = 5;  // beside the default

// The default, then the configs with the shortest estimates.
std::vector<RankedConfig> choose_configs(const autotune::Tunable& kernel, size_t most,
                                         size_t& legal) {
  constexpr size_t kMostLegal = 200'000;
  std::vector<RankedConfig> others;
  const auto estimate = [&](const sched::Config& config) {
    return kernel.estimate ? kernel.estimate(config) : 0;
  };
  const auto is_better = [](const RankedConfig& a, const RankedConfig& b) {
    return std::tie(a.estimate, a.config) < std::tie(b.estimate, b.config);
  };
  legal = 0;
  kernel.space.enumerate([&](const sched::Config& config) {
    if (config != kernel.default_config)
      others.push_back({config, estimate(config), false, "", {}});
    if (others.size() >= 4 * most + 64) {
      std::ranges::nth_element(others, others.begin() + static_cast<ptrdiff_t>(most), is_better);
      others.resize(most);
    }
    return ++legal < kMostLegal;
  });
  std::ranges::sort(others, is_better);
  if (others.size() + 1 > most) others.resize(most - 1);
  others.insert(others.begin(),
                RankedConfig{kernel.default_config, estimate(kernel.default_config), true, "", {}});
  return others;
}

std::string number(int64_t value) { return value < 0 ? "-" : std::to_string(value); }

std::vector<std::string> row_of(const RankedConfig& config) {
  constexpr size_t kMostReason = 80;
  runtime::KernelReport sum;
  for (const runtime::KernelReport& one : config.kernels) sum = runtime::joined(sum, one);
  const bool has_bytes = sum.code_bytes >= 0;
  std::string what = config.config.to_string() + (config.is_default ? "  (default)" : "");
  if (!config.refused.empty()) what += "  refused: " + config.refused.substr(0, kMostReason);
  return {format_seconds(config.estimate),
          number(sum.registers),
          number(sum.spilled),
          number(sum.subgroups),
          has_bytes ? format_bytes(static_cast<double>(sum.code_bytes)) : "-",
          number(sum.latency),
          number(sum.throughput),
          std::move(what)};
}

}  // namespace

int64_t RankedConfig::spilled() const {
  int64_t sum = 0;
  for (const runtime::KernelReport& one : kernels) sum += std::max<int64_t>(0, one.spilled);
  return sum;
}

RankedKernel rank_configs(const autotune::Tunable& kernel, runtime::Device& device, size_t most) {
  RankedKernel ranked{kernel.name, kernel.key.kernel_template, kernel.operands, {}, 0};
  ranked.configs = choose_configs(kernel, std::max<size_t>(2, most), ranked.legal);
  parallel_for(0, std::ssize(ranked.configs), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      RankedConfig& config = ranked.configs[static_cast<size_t>(i)];
      try {
        for (const auto& launch : kernel.compile(config.config).launches)
          config.kernels.push_back(device.load(launch.kernel)->report());
      } catch (const Error& error) { config.refused = error.what(); }
    }
  });
  std::ranges::stable_sort(ranked.configs, {}, [](const RankedConfig& config) {
    return std::tuple(!config.refused.empty(), config.spilled() > 0, config.estimate);
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
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < kernel.configs.size(); ++i)
    if (i < kShown || kernel.configs[i].is_default) rows.push_back(row_of(kernel.configs[i]));
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
    json.member("estimate", config.estimate).member("default", config.is_default);
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
