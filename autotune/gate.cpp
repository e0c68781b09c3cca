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

// Both infinities, or both NaN.
bool same_special(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

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

GateResult compare_with(std::span<const std::byte> expected, std::span<const std::byte> got,
                        DType dtype, double combined) {
  TCC_CHECK(expected.size() == got.size(), "outputs of different sizes");
  GateResult result;
  if (std::memcmp(expected.data(), got.data(), expected.size()) == 0) return result;
  auto size = static_cast<size_t>(size_bytes(dtype));
  size_t count = expected.size() / size;
  auto refuse = [&](size_t element, auto a, auto b) {
    result.pass = false;
    result.reason = str("element ", element, " is ", b, ", not ", a);
    return result;
  };
  if (!is_float(dtype)) {
    for (size_t i = 0; i < count; ++i)
      if (std::memcmp(&expected[i * size], &got[i * size], size) != 0) {
        std::array<int64_t, 2> values{};
        convert(&expected[i * size], dtype, &values[0], DType::i64, 1);
        convert(&got[i * size], dtype, &values[1], DType::i64, 1);
        return refuse(i, values[0], values[1]);
      }
    return result;
  }
  std::array<double, kChunk> a, b;
  double difference = 0, magnitude = 0, worst = -1, finite = 0;
  size_t worst_element = 0;
  double worst_expected = 0, worst_got = 0;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    size_t some = std::min(kChunk, count - begin);
    convert(&expected[begin * size], dtype, a.data(), DType::f64, static_cast<int64_t>(some));
    convert(&got[begin * size], dtype, b.data(), DType::f64, static_cast<int64_t>(some));
    for (size_t i = 0; i < some; ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
        if (!same_special(a[i], b[i])) return refuse(begin + i, a[i], b[i]);
        continue;
      }
      double error = std::fabs(a[i] - b[i]);
      difference += error * error;
      magnitude += a[i] * a[i];
      finite += 1;
      if (error <= worst) continue;
      worst = error;
      worst_element = begin + i;
      worst_expected = a[i];
      worst_got = b[i];
    }
  }
  double root_count = std::sqrt(std::max(finite, 1.0));
  double rmse = std::sqrt(difference) / root_count;
  double limit = (8 * ulp(dtype) + (16 + 8 * std::sqrt(combined)) * ulp(compute_dtype(dtype))) *
                 std::sqrt(magnitude) / root_count;
  if (rmse <= limit) {
    result.error = limit > 0 ? rmse / limit : 0;
    return result;
  }
  refuse(worst_element, worst_expected, worst_got);
  result.reason = str("RMSE ", rmse, " exceeds ", limit, "; worst ", result.reason);
  return result;
}

}  // namespace tcc::autotune
