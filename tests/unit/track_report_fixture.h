// Reports of tcc-track to write and to draw: like those of a real comparison, of any size, and
// hostile ones.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/error.h"
#include "tools/track/report.h"

namespace tcc::testing {

using tools::Quantity;
using tools::ReportedCase;
using tools::TrackedHistory;
using tools::TrackedKernel;
using tools::TrackReport;

// Draws that are the same everywhere: distributions of the standard library are not.
class Draws {
 public:
  explicit Draws(uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::mt19937_64 engine_;
};

inline std::string run_name(size_t number) {
  constexpr char digits[] = "0123456789abcdef";
  uint64_t hash = (number + 1) * 0x9e3779b97f4a7c15u;
  std::string text;
  for (int i = 0; i < 12; ++i, hash >>= 4) text += digits[hash & 15];
  return text;
}

inline std::string run_date(size_t number) {  // one a day, from 1 January 2026 on
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  size_t day = number % 365, month = 0;
  while (day >= static_cast<size_t>(days[month])) day -= static_cast<size_t>(days[month++]);
  const auto two = [](size_t value) { return str(value < 10 ? "0" : "", value); };
  return str("2026-", two(month + 1), "-", two(day + 1), "T03:12:", two(number % 60), "Z");
}

struct Planted {
  double step = 1;   // at two thirds of the history
  double drift = 1;  // over the first third
};

inline TrackedHistory sample_history(const std::string& quantity, const std::string& unit,
                                     double level, double noise, size_t points, Planted planted,
                                     uint64_t seed) {
  Draws draws(seed);
  TrackedHistory history{quantity, unit, {}, {}};
  for (size_t i = 0; i < points; ++i) {
    const double way = std::min(1.0, 3.0 * static_cast<double>(i) / static_cast<double>(points));
    double value = level * std::pow(planted.drift, way);
    if (i >= points * 2 / 3) value *= planted.step;
    value *= 1 + noise * draws.normal() + (draws.uniform() < 0.01 ? 6 * noise : 0);
    const double half = value * noise * (1.5 + draws.uniform());
    history.points.push_back({"nightly-" + std::to_string(1000 + i), run_name(i), run_date(i),
                              value, noise > 0 ? value - half : value,
                              noise > 0 ? value + half : value});
  }
  using Kind = track::Change::Kind;
  if (planted.drift != 1 && points >= 9)
    history.changes.push_back({Kind::drift, 0, points / 3, planted.drift});
  if (planted.step != 1 && points >= 9)
    history.changes.push_back({Kind::step, points * 2 / 3, points * 2 / 3, planted.step});
  return history;
}

inline Quantity counted(const std::string& name, const std::string& unit, double base,
                        double head) {
  Quantity quantity;
  quantity.name = name;
  quantity.unit = unit;
  quantity.base = base;
  quantity.head = head;
  if (head > base) {
    quantity.verdict = Quantity::Verdict::worse;
    quantity.reason = "more than the base has";
  } else if (head < base) {
    quantity.verdict = Quantity::Verdict::better;
  }
  return quantity;
}

inline Quantity timed(double base, double ratio, double noise, Quantity::Verdict verdict,
                      uint64_t seed) {
  Draws draws(seed);
  Quantity quantity;
  quantity.name = "time";
  quantity.unit = "s";
  quantity.base = base;
  quantity.head = base * ratio;
  const size_t blocks = verdict == Quantity::Verdict::same ? 6 : 18;
  for (size_t i = 0; i < blocks; ++i) {
    quantity.base_samples.push_back(base * (1 + noise * draws.normal()));
    quantity.head_samples.push_back(base * ratio * (1 + noise * draws.normal()));
  }
  const double half = 2.3 * noise / std::sqrt(static_cast<double>(blocks));
  quantity.effect = track::Effect{ratio, ratio * (1 - half), ratio * (1 + half), noise, blocks};
  const bool changed = verdict == Quantity::Verdict::worse || verdict == Quantity::Verdict::better;
  quantity.p = changed ? 0.0004 : 0.61;
  quantity.visible = 0.005 + 2.4 * noise;
  quantity.verdict = verdict;
  if (verdict == Quantity::Verdict::unmeasurable)
    quantity.reason = "a change of 1 % could have been missed";
  return quantity;
}

inline std::vector<TrackedKernel> sample_kernels(double seconds, double ratio, size_t number) {
  const size_t count = 1 + (number + 2) % 3;
  const double shares[3][3] = {{1}, {0.68, 0.32}, {0.58, 0.27, 0.15}};
  const char* regions[] = {"matmul_bias_gelu", "layer_norm", "softmax"};
  const char* templates[] = {"gemm_sm90", "row_norm", "row_norm"};
  std::vector<TrackedKernel> kernels;
  for (size_t i = 0; i < count; ++i) {
    TrackedKernel kernel;
    kernel.region = regions[(number + i) % 3];
    kernel.layers = {"encoder.layer." + std::to_string(i) + ".intermediate"};
    kernel.kernel_template = templates[(number + i) % 3];
    kernel.config = "block_m=128 block_n=" + std::to_string(128 << (i % 2)) + " stages=4";
    kernel.tier = "exact";
    kernel.key = run_name(100 * number + i);
    kernel.source = run_name(7000 + 100 * number + i);
    kernel.launches = i == 0 && count > 1 ? 12 : 1;
    kernel.seconds = seconds * shares[count - 1][i] / static_cast<double>(kernel.launches);
    kernel.bytes = *kernel.seconds * 2.6e12;
    kernel.flops = i == 0 ? *kernel.seconds * 5.1e14 : *kernel.seconds * 8e11;
    kernel.roofline = 0.86 - 0.07 * static_cast<double>(i);
    if (i == 0 && ratio != 1) {
      kernel.seconds = *kernel.seconds * (1 + (ratio - 1) / shares[count - 1][0]);
      kernel.roofline = *kernel.roofline / (1 + (ratio - 1) / shares[count - 1][0]);
      kernel.config = "block_m=64 block_n=128 stages=3";
      kernel.tier = "nearest";
      kernel.source = run_name(8000 + number);
    }
    kernel.low = *kernel.seconds * 0.995;
    kernel.high = *kernel.seconds * 1.006;
    kernels.push_back(kernel);
  }
  return kernels;
}

inline ReportedCase sample_case(size_t number, size_t points) {
  using Verdict = Quantity::Verdict;
  const char* names[] = {"softmax M=8192 N=8192 bf16",       "linear-gelu M=4096 N=3072 K=768 bf16",
                         "layer-norm M=16384 N=1024 f16",    "matmul M=8192 N=8192 K=8192 bf16",
                         "cross-entropy M=4096 N=50304 f32", "transpose M=8192 N=4096 f32",
                         "bert-base B=8 T=384 f16",          "add-rms-norm M=8192 N=4096 bf16"};
  ReportedCase one;
  one.name = names[number % 8];
  if (number >= 8) one.name += str(" #", number / 8 + 1);
  one.file = "bench/suites/bandwidth.yaml";
  one.line = static_cast<int>(12 + number);
  const double base = 1e-6 * std::pow(1.37, static_cast<double>(number % 24)) * 9;
  double ratio = 1 + 0.0011 * std::sin(static_cast<double>(number));
  double noise = 0.002;
  Verdict verdict = Verdict::same;
  if (number % 12 == 1) ratio = 1.0214, verdict = Verdict::worse;
  if (number % 12 == 6) ratio = 1.0873, verdict = Verdict::worse;
  if (number % 12 == 4) ratio = 0.9431, verdict = Verdict::better;
  if (number % 12 == 9) ratio = 1.013, noise = 0.031, verdict = Verdict::unmeasurable;
  one.quantities = {
      timed(base, ratio, noise, verdict, number + 1),
      counted("launches", "", 24, number % 12 == 6 ? 36 : 24),
      counted("arena bytes", "bytes", 50331648, number % 12 == 4 ? 41943040 : 50331648),
      counted("error", "", 0.00021, 0.00021)};
  Quantity compile = counted("compile time", "s", 1.42, 1.42);
  compile.head = 1.47;
  compile.gates = false;
  one.quantities.push_back(compile);
  if (number % 12 == 3) {
    one.quantities[0].budget = base * 0.98;
    one.quantities[0].over_budget = true;
    one.quantities[0].reason = "2 % more than may be";
  } else if (number % 4 == 0) {
    one.quantities[0].budget = base * 1.1;
  }
  const bool changed = verdict == Verdict::worse || verdict == Verdict::better;
  one.base_kernels = sample_kernels(base, 1, number);
  one.head_kernels = sample_kernels(base, changed ? ratio : 1, number);
  Planted planted;
  if (verdict == Verdict::worse) planted.step = ratio;
  if (number % 12 == 4) planted.drift = 0.9431;
  if (points > 0) {
    one.histories.push_back(
        sample_history("time", "s", base, noise, points, planted, 900 + number));
    one.histories.push_back(sample_history("launches", "", 24, 0, points, {}, 1));
  }
  return one;
}

inline TrackReport sample_report(size_t cases = 24, size_t points = 120) {
  TrackReport report;
  report.command = "tcc-track compare build/base build/head bench/suites/bandwidth.yaml";
  report.date = "2026-11-22T12:31:05Z";
  report.version = "0.1.0";
  report.commit = "5f76e6a";
  report.device = "cuda:0";
  report.description = "NVIDIA H200";
  report.driver = "580.65.06";
  report.target = "cuda:sm_90a";
  report.base = {"build/base", "0.1.0", "84c65da2b1f0", "2026-11-20T09:12:44Z"};
  report.head = {"build/head", "0.1.0", "5f76e6a91c3d", "2026-11-22T11:58:03Z"};
  report.seconds = 143.2;
  for (size_t i = 0; i < cases; ++i) report.cases.push_back(sample_case(i, points));
  report.notes = {
      "clocks fell to 1,605 MHz (power) during 2 of 412 blocks; they were measured again"};
  return report;
}

// One case in which nothing is as it should be, and everything is there.
inline TrackReport hostile_report() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string evil =
      "</script><script>alert('x')</script><!-- | `a` *b* @mention #1 ]]> \x01\xff "
      "\xe2\x80\xae\xf0\x9f\x92\xa5 \"q\" & <img src=x onerror=alert(1)>\n## heading";
  TrackReport report;
  report.command = report.description = report.driver = report.target = evil;
  report.date = report.version = report.commit = report.device = evil;
  report.base = {evil, evil, evil, evil};
  report.head = {evil + "2", evil, evil, evil};
  report.notes = {evil, ""};
  report.seconds = 1;
  ReportedCase one = sample_case(1, 9);
  one.name = evil;
  one.file = "/etc/" + evil;
  one.line = -3;
  one.quantities[0].effect = track::Effect{kNan, 0, kInfinity, kNan, 1};
  one.quantities[0].base = kNan;
  one.quantities[0].head = kInfinity;
  one.quantities[0].base_samples = {kNan, 1, kInfinity};
  one.quantities[0].reason = evil;
  one.quantities[1].name = one.quantities[1].unit = evil;
  one.quantities[1].base = 0;
  one.quantities[1].verdict = Quantity::Verdict::failed;
  one.base_kernels[0].region = one.base_kernels[0].config = one.base_kernels[0].tier = evil;
  one.base_kernels[0].layers = {evil, ""};
  one.base_kernels[0].seconds = kNan;
  one.base_kernels[0].bytes = kInfinity;
  one.head_kernels.clear();
  TrackedHistory& history = one.histories[0];
  history.quantity = history.unit = evil;
  history.points[0] = {evil, evil, evil, kNan, kNan, kInfinity};
  history.points[1].value = -1;
  history.changes = {{track::Change::Kind::drift, 0, 8, kNan}};
  one.histories.push_back({"time", "s", {}, {}});
  report.cases = {one, ReportedCase{}};
  return report;
}

}  // namespace tcc::testing
