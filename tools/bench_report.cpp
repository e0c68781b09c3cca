#include "tools/bench_report.h"

#include <algorithm>
#include <cstdio>

#include "tools/program.h"

namespace tcc::tools {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Row {
  const sched::KernelBinary* kernel;
  int launches = 0;
  double seconds = 0;  // of all launches
};

std::vector<Row> rows(const BenchResult& bench, const sched::Executable& executable) {
  std::vector<Row> rows;
  for (const sched::KernelBinary& kernel : executable.kernels) rows.push_back({&kernel, 0, 0});
  for (size_t i = 0; i < executable.launches.size() && i < bench.launch_seconds.size(); ++i) {
    Row& row = rows[static_cast<size_t>(executable.launches[i].kernel)];
    ++row.launches;
    row.seconds += bench.launch_seconds[i];
  }
  return rows;
}

// The least time that the device could need, by bandwidth and by arithmetic, over the time it took.
double roofline_share(const Row& row, const sched::Target& target) {
  double least = target.least_seconds(row.kernel->bytes, row.kernel->flops, row.kernel->flop_rate) *
                 row.launches;
  return row.seconds > 0 ? least / row.seconds : 0;
}

std::string number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

BenchResult measure(runtime::Context& context, const sched::Executable& executable, int repeat) {
  BenchResult result;
  for (int i = 0; i < 3; ++i) context.time_replay(1);
  std::vector<double> replays;
  for (int i = 0; i < repeat; ++i) replays.push_back(context.time_replay(1));
  result.replay_seconds = median(replays);
  std::vector<std::vector<double>> launches(executable.launches.size());
  for (int i = 0; i < std::min(repeat, 20); ++i) {
    std::vector<double> once = context.time_launches();
    for (size_t k = 0; k < launches.size(); ++k) launches[k].push_back(once[k]);
  }
  for (auto& samples : launches) result.launch_seconds.push_back(median(samples));
  return result;
}

std::string bench_table(const BenchResult& bench, const sched::Executable& executable) {
  std::vector<std::vector<std::string>> table;
  std::vector<Row> all = rows(bench, executable);
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  double total = 0;
  for (const Row& row : all) {
    double each = row.seconds / std::max(row.launches, 1);
    total += row.seconds;
    table.push_back({row.kernel->template_name, row.kernel->region, std::to_string(row.launches),
                     number(each * 1e6, "%.1f"), format_rate(row.kernel->bytes / each * 1e-9),
                     format_rate(row.kernel->flops / each * 1e-12),
                     number(100 * roofline_share(row, executable.target), "%.0f%%"),
                     row.kernel->tier});
  }
  return format_table(
             {"kernel", "region", "launches", "us each", "GB/s", "TFLOP/s", "roofline", "tuning"},
             table) +
         "sum of kernels " + format_seconds(total) + ", whole graph by replay " +
         format_seconds(bench.replay_seconds) + "\n";
}

void bench_json(JsonWriter& json, const BenchResult& bench, const sched::Executable& executable) {
  json.member("seconds_replay", bench.replay_seconds).key("bench").begin_array();
  for (const Row& row : rows(bench, executable)) {
    double each = row.seconds / std::max(row.launches, 1);
    json.begin_object()
        .member("template", row.kernel->template_name)
        .member("region", row.kernel->region)
        .member("launches", row.launches);
    json.member("seconds", each)
        .member("bytes", row.kernel->bytes)
        .member("flops", row.kernel->flops);
    json.member("roofline", roofline_share(row, executable.target))
        .member("tier", row.kernel->tier)
        .member("config", row.kernel->config)
        .end_object();
  }
  json.end_array();
}

}  // namespace tcc::tools
