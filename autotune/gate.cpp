#include "autotune/gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ir/reference/noise.h"
#include "ir/tensor.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kChunk = 4096;  // elements that are converted at once

double ulp(DType dtype) { return std::ldexp(1.0, -info(dtype).mantissa_bits); }

template <class T>
void refuse(GateResult& result, size_t element, T expected, T got) {
  result.pass = false;
  result.reason = str("element ", element, " is ", got, ", not ", expected);
}

// The RMSE over the finite ones of what is added, against its limit.
class FloatComparison {
 public:
  // False when a special value stands on one side alone: then the result is known.
  bool add(size_t element, double expected, double got) {
    if (!std::isfinite(expected) || !std::isfinite(got)) {
      if (same_special(expected, got)) return true;
      refuse(result_, element, expected, got);
      return false;
    }
    const double error = std::fabs(expected - got);
    difference_ += error * error;
    magnitude_ += expected * expected;
    finite_ += 1;
    if (error > worst_.error) worst_ = {error, element, expected, got};
    return true;
  }

  GateResult result(const BenchOutput& output, double combined) {
    if (!result_.pass) return result_;
    const double root_count = std::sqrt(std::max(finite_, 1.0));
    const double rmse = std::sqrt(difference_) / root_count;
    const double limit = gate_limit(output, combined, std::sqrt(magnitude_) / root_count);
    if (rmse <= limit) {
      result_.error = limit > 0 ? rmse / limit : 0;
      return result_;
    }
    refuse(result_, worst_.element, worst_.expected, worst_.got);
    result_.reason = str("RMSE ", rmse, " exceeds ", limit, "; worst ", result_.reason);
    return result_;
  }

 private:
  struct Worst {
    double error = -1;
    size_t element = 0;
    double expected = 0, got = 0;
  };
  double difference_ = 0, magnitude_ = 0, finite_ = 0;
  Worst worst_;
  GateResult result_;
};

}  // namespace

double combined_values(const sched::Region& region) {
  double most = 1;
  for (const ir::Node* node : region.nodes) most = std::max(most, ir::combined_values(*node));
  return most;
}

double gate_tolerance(const BenchOutput& output, double combined) {
  double coarsest = ulp(output.dtype);
  if (output.rounded) coarsest = std::max(coarsest, ulp(*output.rounded));
  return 8 * coarsest + (16 + 8 * std::sqrt(combined)) * ulp(compute_dtype(output.dtype));
}

double gate_limit(const BenchOutput& output, double combined, double rms) {
  return std::max(gate_tolerance(output, combined) * rms, ir::kNoiseShare * output.noise);
}

bool same_special(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

GateResult compare_with(std::span<const std::byte> expected, std::span<const std::byte> got,
                        const BenchOutput& output, double combined) {
  TCC_CHECK(expected.size() == got.size(), "outputs of different sizes");
  GateResult result;
  if (std::memcmp(expected.data(), got.data(), expected.size()) == 0) return result;
  const DType dtype = output.dtype;
  const auto size = static_cast<size_t>(size_bytes(dtype));
  const size_t count = expected.size() / size;
  if (!is_float(dtype)) {
    size_t i = 0;
    while (i < count && std::memcmp(&expected[i * size], &got[i * size], size) == 0) ++i;
    std::array<int64_t, 2> values{};
    convert(&expected[i * size], dtype, &values[0], DType::i64, 1);
    convert(&got[i * size], dtype, &values[1], DType::i64, 1);
    refuse(result, i, values[0], values[1]);
    return result;
  }
  FloatComparison comparison;
  std::array<double, kChunk> a, b;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t some = std::min(kChunk, count - begin);
    convert(&expected[begin * size], dtype, a.data(), DType::f64, static_cast<int64_t>(some));
    convert(&got[begin * size], dtype, b.data(), DType::f64, static_cast<int64_t>(some));
    for (size_t i = 0; i < some; ++i)
      if (!comparison.add(begin + i, a[i], b[i])) return comparison.result(output, combined);
  }
  return comparison.result(output, combined);
}

GateResult compare_with_reference(const BenchJob& job, size_t number,
                                  std::span<const std::byte> got) {
  const BenchOutput& output = job.outputs[number];
  const DType dtype = output.dtype;
  const auto size = static_cast<size_t>(size_bytes(dtype));
  FloatComparison comparison;
  for (const ReferenceSample& sample : job.reference) {
    if (sample.output != static_cast<int>(number)) continue;
    const auto element = static_cast<size_t>(sample.element);
    TCC_CHECK((element + 1) * size <= got.size(), "no element ", element, " of output ", number);
    double value = 0;
    convert(&got[element * size], dtype, &value, DType::f64, 1);
    if (is_float(dtype)) {
      // A number that overflows in the output's type is an infinity there.
      const double rounded = round_to(dtype, sample.value);
      if (!comparison.add(element, std::isinf(rounded) ? rounded : sample.value, value)) break;
    } else if (value != sample.value) {
      GateResult result;
      refuse(result, element, sample.value, value);
      return result;
    }
  }
  return comparison.result(output, job.combined);
}

}  // namespace tcc::autotune
