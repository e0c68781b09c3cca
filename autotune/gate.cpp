#include "autotune/gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ir/graph.h"
#include "ir/op.h"
#include "ir/tensor.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kChunk = 4096;  // elements that are converted at once

double elements(const ir::Value& value) {
  std::vector<int64_t> shape = ir::const_shape(value);
  return static_cast<double>(checked_product(shape).value_or(0));
}

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

  GateResult result(double tolerance) {
    if (!result_.pass) return result_;
    const double root_count = std::sqrt(std::max(finite_, 1.0));
    const double rmse = std::sqrt(difference_) / root_count;
    const double limit = tolerance * std::sqrt(magnitude_) / root_count;
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
  for (const ir::Node* node : region.nodes) {
    if (node->outputs.empty() || node->op->kind == ir::OpKind::view) continue;
    double out = std::max(elements(*node->outputs[0]), 1.0);
    double product = 1, largest = 1;
    for (const ir::Value* input : node->inputs) {
      if (!input) continue;
      product *= std::max(elements(*input), 1.0);
      largest = std::max(largest, elements(*input));
    }
    if (node->op->kind == ir::OpKind::contraction) {
      // Of a product [m, k] x [k, n]: mk kn / mn = k^2. No operand is read more often than whole.
      most = std::max(most, std::min(std::sqrt(product / out), largest));
    } else if (node->op->kind == ir::OpKind::reduce) {
      most = std::max(most, largest / out);
    } else if (node->op->kind == ir::OpKind::scan) {
      for (int64_t dim : ir::const_shape(*node->outputs[0]))
        most = std::max(most, static_cast<double>(dim));
    }
  }
  return most;
}

double gate_tolerance(const BenchOutput& output, double combined) {
  double coarsest = ulp(output.dtype);
  if (output.rounded) coarsest = std::max(coarsest, ulp(*output.rounded));
  return 8 * coarsest + (16 + 8 * std::sqrt(combined)) * ulp(compute_dtype(output.dtype));
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
      if (!comparison.add(begin + i, a[i], b[i])) return comparison.result(0);
  }
  return comparison.result(gate_tolerance(output, combined));
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
      // What overflows in the output's type is an infinity there.
      const double rounded = round_to(dtype, sample.value);
      if (!comparison.add(element, std::isinf(rounded) ? rounded : sample.value, value)) break;
    } else if (value != sample.value) {
      GateResult result;
      refuse(result, element, sample.value, value);
      return result;
    }
  }
  return comparison.result(gate_tolerance(output, job.combined));
}

}  // namespace tcc::autotune
