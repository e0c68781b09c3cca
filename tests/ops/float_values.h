// Numbers at which float arithmetic goes wrong, what a device may make of a graph of them, and when
// a result is one of those.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/reference/interpreter.h"
#include "scheduler/target.h"
#include "support/error.h"

namespace tcc::test {

inline double smallest_normal(DType dtype) {
  return dtype == DType::f64   ? std::numeric_limits<double>::min()
         : dtype == DType::f16 ? 0x1p-14
                               : 0x1p-126;
}

// NaN, and with both signs: infinity, zero, subnormals, the ends of the normal numbers, neighbours
// of 1 and 0.5, halves between whole numbers up to the last one, numbers whose squares overflow.
// Without `extremes` none that a formula of several steps could overflow or underflow on.
inline std::vector<double> special_numbers(DType dtype, bool extremes = true) {
  const int bits = info(dtype).mantissa_bits;
  const double ulp = std::ldexp(1.0, -bits), least = smallest_normal(dtype);
  const double largest = info(dtype).largest;
  std::vector<double> numbers = {std::nan("")};
  for (const double number : {std::numeric_limits<double>::infinity(),
                              0.0,
                              least * ulp,
                              least - least * ulp,
                              least,
                              least * 1.5,
                              largest,
                              largest / 2,
                              1.0,
                              1 - ulp / 2,
                              1 + ulp,
                              0.5,
                              0.5 - ulp / 4,
                              1.5,
                              2.5,
                              3.0,
                              1 / 3.0,
                              0.1,
                              10.0,
                              std::ldexp(1.0, bits) - 0.5,
                              std::ldexp(1.0, bits) + 1,
                              std::sqrt(largest) * 1.0001,
                              std::sqrt(least) * 0.75})
    for (const double sign : {1.0, -1.0}) numbers.push_back(round_to(dtype, sign * number));
  constexpr double small = 0x1p-10, large = 0x1p10;
  if (!extremes)
    std::erase_if(numbers, [&](double x) {
      return std::isfinite(x) && x != 0 && (std::fabs(x) < small || std::fabs(x) > large);
    });
  return numbers;
}

// Returns whether the device promises subnormal numbers of the type that `dtype` is computed in.
inline bool keeps_subnormals(const sched::Target& target, DType dtype) {
  const int width = 8 * size_bytes(compute_dtype(dtype));
  return target.api == sched::Api::cuda || (target.float_controls.keep_denormals & width) != 0;
}

// Zeros for subnormal numbers; with `rounded` for the smallest normal one too, which may have been
// subnormal before it was rounded.
inline void flush(ir::RefTensor& tensor, bool rounded = false) {
  if (!tensor.is_float()) return;
  const double least = smallest_normal(compute_dtype(tensor.dtype));
  for (double& x : tensor.f)
    if (std::fabs(x) < least || (rounded && std::fabs(x) == least)) x = std::copysign(0.0, x);
}

// A graph may give these: its values rounded step by step, and, where the device need not keep
// subnormals, the same with all of them read and written as zeros.
inline std::vector<std::vector<ir::RefTensor>> allowed_results(
    const ir::Graph& graph, const std::vector<ir::RefTensor>& inputs, bool keeps) {
  std::vector<std::vector<ir::RefTensor>> results = {
      ir::interpret(graph, inputs, ir::RefMode::stepwise)};
  if (keeps) return results;
  std::vector<ir::RefTensor> flushed = inputs;
  for (ir::RefTensor& input : flushed) flush(input);
  for (const bool rounded : {false, true}) {
    results.push_back(results[0]);  // flushed at the end alone
    for (ir::RefTensor& output : results.back()) flush(output, rounded);
    ir::InterpretOptions options;
    options.observe = [rounded](const ir::Node&, std::span<ir::RefTensor> outputs) {
      for (ir::RefTensor& output : outputs) flush(output, rounded);
    };
    results.push_back(ir::interpret(graph, flushed, ir::RefMode::stepwise, options));
  }
  return results;
}

// The same number: -0.0 is not 0.0, and NaN is NaN.
inline bool same_bits(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// Both NaN, infinite, zero or finite, of one sign. What lies at the end of the type's range may
// fall on either side of it, and what cancels numbers of size `scale` on either side of zero.
inline bool same_kind(double got, double want, DType dtype, double scale) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  const bool same_sign = std::signbit(got) == std::signbit(want);
  const double most = 0.99 * info(dtype).largest;
  if (std::isinf(got) || std::isinf(want))
    return same_sign && std::fabs(got) >= most && std::fabs(want) >= most;
  const double ulp = std::ldexp(scale, -info(dtype).mantissa_bits);
  const double least = 4 * std::max(smallest_normal(dtype), ulp);
  const bool both_zero = got == 0 && want == 0;
  if (both_zero || (same_sign && got != 0 && want != 0)) return same_sign;
  return std::fabs(got) <= least && std::fabs(want) <= least;
}

// bits: the same bits, NaN's aside; numbers: but for the signs of zeros; kinds: same_kind; sums:
// the same but for the signs of zeros.
enum class Agreement : uint8_t { bits, numbers, kinds, sums };

inline bool agrees(double got, double want, DType dtype, Agreement how, double scale) {
  switch (how) {
    case Agreement::bits: return same_bits(got, want);
    case Agreement::numbers: return same_bits(got, want) || got == want;
    case Agreement::kinds: return same_kind(got, want, dtype, scale);
    case Agreement::sums: return (got == 0 && want == 0) || same_kind(got, want, dtype, scale);
  }
  return false;
}

// The largest finite operand of element `i`, where operands have as many elements.
inline double scale_of(const std::vector<ir::RefTensor>& operands, size_t i, size_t count) {
  double scale = 0;
  for (const ir::RefTensor& x : operands)
    if (x.f.size() == count && std::isfinite(x.f[i])) scale = std::max(scale, std::fabs(x.f[i]));
  return scale;
}

// "" or the first element of output `k` that is none of the allowed ones; `operands` are printed.
inline std::string disagreement(const ir::RefTensor& got,
                                const std::vector<std::vector<ir::RefTensor>>& allowed, size_t k,
                                Agreement how, const std::vector<ir::RefTensor>& operands) {
  const auto count = static_cast<size_t>(got.numel());
  const auto text = [](const ir::RefTensor& x, size_t i) {
    return x.is_float() ? str(std::hexfloat, x.f[i]) : str(x.i[i]);
  };
  for (size_t i = 0; i < count; ++i) {
    const double scale = scale_of(operands, i, count);
    const auto is_allowed = [&](const std::vector<ir::RefTensor>& results) {
      return got.is_float() ? agrees(got.f[i], results[k].f[i], got.dtype, how, scale)
                            : got.i[i] == results[k].i[i];
    };
    if (std::ranges::any_of(allowed, is_allowed)) continue;
    std::string reason = str("element ", i, " is ", text(got, i), " instead of ");
    for (size_t j = 0; j < allowed.size(); ++j) reason += (j ? ", " : "") + text(allowed[j][k], i);
    for (const ir::RefTensor& x : operands)
      if (static_cast<size_t>(x.numel()) == count) reason += " of " + text(x, i);
    return reason;
  }
  return "";
}

}  // namespace tcc::test
