#include "tools/bench_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "autotune/statistics.h"
#include "executable/kernel_sizes.h"
#include "support/error.h"
#include "support/plural.h"
#include "tools/long_work.h"
#include "tools/program.h"
#include "tools/progress.h"

namespace tcc::tools {
namespace {

// "encoder/dense (+11)".
std::string layers_text(const ir::Layers& layers) {
  constexpr size_t kWidth = 32;
  if (layers.empty()) return "";
  std::string text = printable(layers.front());
  if (text.size() > kWidth) text = "~" + text.substr(text.size() - kWidth);
  return layers.size() == 1 ? text : str(text, " (+", layers.size() - 1, ")");
}

std::string number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Members "seconds" (the median), "interval" (95 %) and "samples".
void add_samples(JsonWriter& json, const std::vector<double>& samples) {
  json.member("seconds", samples.empty() ? 0 : autotune::median(samples));
  json.key("interval").begin_array();
  if (!samples.empty()) {
    const autotune::Interval interval = autotune::median_interval(samples);
    json.value(interval.low).value(interval.high);
  }
  json.end_array().key("samples").begin_array();
  for (double sample : samples) json.value(sample);
  json.end_array();
}

// "matmul_add", or "matmul_add (1 of 2)" where several kernels compute the region.
std::string region_text(const exec::KernelBinary& kernel) {
  return kernel.parts == 1 ? kernel.region
                           : str(kernel.region, " (", kernel.part, " of ", kernel.parts, ")");
}

// A choice of a table, and the distinct kernels that it has, in the order of their launches.
struct ChoiceRow {
  exec::Chosen chosen;
  std::vector<const exec::KernelBinary*> kernels;
};

std::vector<ChoiceRow> choice_rows(const exec::Executable& executable) {
  std::map<std::pair<int, int>, ChoiceRow> rows;
  for (const exec::KernelLaunch* launch : exec::launches(executable)) {
    if (launch->chosen.table < 0) continue;
    ChoiceRow& row = rows[{launch->chosen.table, launch->chosen.choice}];
    row.chosen = launch->chosen;
    const exec::KernelBinary* kernel = &executable.kernels[static_cast<size_t>(launch->kernel)];
    if (std::ranges::find(row.kernels, kernel) == row.kernels.end()) row.kernels.push_back(kernel);
  }
  std::vector<ChoiceRow> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

bool ran(const exec::Executable& executable, const exec::Chosen& chosen,
         std::span<const int> step_counts) {
  for (size_t i = 0; i < executable.steps.size(); ++i)
    if (const auto* launch = std::get_if<exec::KernelLaunch>(&executable.steps[i]))
      if (launch->chosen.table == chosen.table && launch->chosen.choice == chosen.choice &&
          step_counts[i] > 0)
        return true;
  return false;
}

int total_of(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

}  // namespace

double KernelRow::each() const { return samples.empty() ? 0 : autotune::median(samples); }

std::vector<KernelRow> kernel_rows(const BenchResult& bench, const exec::Executable& executable) {
  std::vector<KernelRow> rows;
  std::vector<std::set<std::string>> texts(executable.kernels.size());
  for (const exec::KernelBinary& kernel : executable.kernels) rows.push_back({&kernel});
  const std::vector<int> counts =
      bench.counts.empty() ? exec::usual_counts(executable) : bench.counts;
  for (size_t i = 0; i < executable.steps.size(); ++i) {
    const auto* launch = std::get_if<exec::KernelLaunch>(&executable.steps[i]);
    if (!launch || counts[i] == 0) continue;
    KernelRow& row = rows[static_cast<size_t>(launch->kernel)];
    row.launches += counts[i];
    row.flops += counts[i] * (bench.work.empty() ? launch->flops.usual() : bench.work[i].flops);
    row.bytes += counts[i] * (bench.work.empty() ? launch->bytes.usual() : bench.work[i].bytes);
    row.samples.resize(bench.steps.size());
    for (size_t n = 0; n < bench.steps.size(); ++n) row.samples[n] += bench.steps[n][i];
    row.layers.insert(row.layers.end(), launch->layers.begin(), launch->layers.end());
    // One choice of each table runs: those of a kernel are of several tables.
    const std::string sizes = exec::sizes_text(executable, launch->chosen);
    if (!sizes.empty() && texts[static_cast<size_t>(launch->kernel)].insert(sizes).second)
      row.sizes += (row.sizes.empty() ? "" : "; ") + sizes;
  }
  std::erase_if(rows, [](const KernelRow& row) { return row.launches == 0; });
  for (KernelRow& row : rows) {
    for (double& sample : row.samples) sample /= row.launches;
    row.flops /= row.launches;
    row.bytes /= row.launches;
  }
  return rows;
}

double roofline_share(const KernelRow& row, const exec::Target& target) {
  double least = target.least_seconds(row.bytes, row.flops, row.kernel->flop_rate);
  return row.each() > 0 ? least / row.each() : 0;
}

BenchResult measure(runtime::Context& context, const exec::Executable& executable, int repeat) {
  constexpr int kWarmUps = 3, kMostOfLaunches = 20;
  BenchResult result;
  result.counts = context.step_counts();
  result.work = context.step_work();
  LongWork work("tcc-run: measuring");
  for (int i = 0; i < kWarmUps; ++i) context.time_replay(1);
  for (int i = 0; i < repeat; ++i) {
    result.replays.push_back(context.time_replay(1));
    work.at(static_cast<double>(i + 1) / (2.0 * repeat));
  }
  const int of_steps = executable.steps.empty() ? 0 : std::min(repeat, kMostOfLaunches);
  for (int i = 0; i < of_steps; ++i) {
    result.steps.push_back(context.time_steps());
    work.at(0.5 + static_cast<double>(i + 1) / (2.0 * of_steps));
  }
  return result;
}

std::string bench_table(const BenchResult& bench, const exec::Executable& executable) {
  std::vector<std::vector<std::string>> table;
  std::vector<KernelRow> all = kernel_rows(bench, executable);
  std::stable_sort(all.begin(), all.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.total() > b.total(); });
  double total = 0;
  for (const KernelRow& row : all) {
    const double each = row.each();
    total += row.total();
    table.push_back({row.kernel->template_name, region_text(*row.kernel),
                     std::to_string(row.launches), number(each * 1e6, "%.1f"),
                     format_rate(row.bytes / each * 1e-9), format_rate(row.flops / each * 1e-12),
                     number(100 * roofline_share(row, executable.target), "%.0f%%"),
                     row.kernel->tier, layers_text(row.layers)});
    if (!executable.tables.empty()) table.back().push_back(row.sizes);
  }
  const autotune::Interval interval = autotune::median_interval(bench.replays);
  std::vector<std::string> header = {"kernel",  "region",   "launches", "us each", "GB/s",
                                     "TFLOP/s", "roofline", "tuning",   "layers"};
  if (!executable.tables.empty()) header.push_back("sizes");
  return format_table(header, table) + "sum of kernels " + format_seconds(total) +
         ", whole graph by replay " + format_seconds(autotune::median(bench.replays)) +
         " (95 %: " + format_seconds(interval.low) + " to " + format_seconds(interval.high) + ")\n";
}

void bench_json(JsonWriter& json, const BenchResult& bench, const exec::Executable& executable) {
  json.member("seconds_replay", autotune::median(bench.replays)).key("replay").begin_object();
  add_samples(json, bench.replays);
  json.end_object().key("bench").begin_array();
  for (const KernelRow& row : kernel_rows(bench, executable)) {
    json.begin_object()
        .member("template", row.kernel->template_name)
        .member("template_version", row.kernel->template_version)
        .member("region", row.kernel->region)
        .member("region_key", row.kernel->region_key)
        .member("config", row.kernel->config)
        .member("tier", row.kernel->tier)
        .member("launches", row.launches)
        .member("sizes", row.sizes);
    add_samples(json, row.samples);
    json.member("bytes", row.bytes)
        .member("flops", row.flops)
        .member("roofline", roofline_share(row, executable.target))
        .key("layers")
        .begin_array();
    for (const std::string& layer : row.layers) json.value(layer);
    json.end_array().end_object();
  }
  json.end_array();
}

std::string launches_text(const exec::Executable& executable, std::span<const int> step_counts) {
  const std::vector<int> counts = exec::launch_counts(executable, step_counts);
  const size_t all = counts.size(),
               kernels = all - static_cast<size_t>(std::ranges::count(counts, 0));
  std::string text = counted(static_cast<size_t>(total_of(counts)), "launch", "launches") + " of " +
                     counted(kernels, "kernel");
  if (kernels < all) text += str(" (", all, " for all sizes)");
  return text;
}

std::string sizes_table(const exec::Executable& executable, std::span<const int> step_counts) {
  std::vector<std::vector<std::string>> table;
  for (const ChoiceRow& row : choice_rows(executable))
    for (const exec::KernelBinary* kernel : row.kernels)
      table.push_back({region_text(*kernel), exec::sizes_text(executable, row.chosen),
                       ran(executable, row.chosen, step_counts) ? "ran" : "", kernel->template_name,
                       kernel->config, kernel->tier});
  if (table.empty()) return "";
  return format_table({"region", "sizes", "", "kernel", "config", "tuning"}, table);
}

void launches_json(JsonWriter& json, const exec::Executable& executable,
                   std::span<const int> step_counts) {
  json.member("launches", total_of(exec::launch_counts(executable, step_counts)))
      .member("kernels", executable.kernels.size())
      .key("choices")
      .begin_array();
  for (const ChoiceRow& row : choice_rows(executable)) {
    json.begin_object()
        .member("table", row.chosen.table)
        .member("choice", row.chosen.choice)
        .member("sizes", exec::sizes_text(executable, row.chosen))
        .member("ran", ran(executable, row.chosen, step_counts))
        .key("kernels")
        .begin_array();
    for (const exec::KernelBinary* kernel : row.kernels)
      json.begin_object()
          .member("template", kernel->template_name)
          .member("region", kernel->region)
          .member("config", kernel->config)
          .member("tier", kernel->tier)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace tcc::tools
