#include "ir/reference/compare.h"

#include <algorithm>
#include <cmath>

#include "ir/reference/noise.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

// "[1, 3]" of element `offset` of a row-major tensor.
std::string index_text(int64_t offset, const std::vector<int64_t>& shape) {
  std::vector<SymInt> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; offset /= shape[d]) index[d] = offset % shape[d];
  return to_string(std::span<const SymInt>(index));
}

enum class Class { finite, nan, plus_inf, minus_inf };

Class classify(double value) {
  if (std::isfinite(value)) return Class::finite;
  if (std::isnan(value)) return Class::nan;
  return value > 0 ? Class::plus_inf : Class::minus_inf;
}

// The root of the mean of squares of what is added; squares do not overflow as long as values are
// below `largest`.
class MeanSquare {
 public:
  explicit MeanSquare(double largest) : scale_(largest > 1e100 ? 1 / largest : 1) {}
  void add(double value) {
    sum_ += (value * scale_) * (value * scale_);
    ++count_;
  }
  double root() const {
    return count_ == 0 ? 0 : std::sqrt(sum_ / static_cast<double>(count_)) / scale_;
  }

 private:
  double scale_, sum_ = 0;
  int64_t count_ = 0;
};

double largest_finite(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return largest;
}

void fail(Comparison& result, std::string reason) {
  result.pass = false;
  if (result.reason.empty()) result.reason = std::move(reason);
}

// The RMSE against `ideal` of the draw where it is largest.
double noise_of(std::span<const RefTensor> noisy, const RefTensor& ideal, double largest) {
  double noise = 0;
  for (const RefTensor& draw : noisy) {
    MeanSquare error(std::max(largest, largest_finite(draw.f)));
    for (size_t k = 0; k < ideal.f.size(); ++k)
      if (std::isfinite(draw.f[k]) && std::isfinite(ideal.f[k])) error.add(draw.f[k] - ideal.f[k]);
    noise = std::max(noise, error.root());
  }
  return noise;
}

void compare_floats(const RefTensor& out, const RefTensor& ideal, const RefTensor& stepwise,
                    std::span<const RefTensor> noisy, Comparison& result) {
  const double largest =
      std::max({largest_finite(out.f), largest_finite(ideal.f), largest_finite(stepwise.f)});
  MeanSquare out_error(largest), stepwise_error(largest), magnitude(largest);
  int64_t worst = -1;
  for (size_t k = 0; k < out.f.size(); ++k) {
    const double got = out.f[k], exact = ideal.f[k], step = stepwise.f[k];
    const Class kind = classify(got), expected = classify(round_to(out.dtype, exact));
    result.nans += kind == Class::nan;
    result.nans_expected += expected == Class::nan;
    const auto as_drawn = [&](const RefTensor& draw) {
      return classify(round_to(out.dtype, draw.f[k])) == kind;
    };
    if (kind != expected && kind != classify(step) && std::ranges::none_of(noisy, as_drawn)) {
      if (++result.mismatches == 1)
        fail(result, str("element ", index_text(static_cast<int64_t>(k), out.shape), " is ", got,
                         " where the reference has ", round_to(out.dtype, exact)));
      continue;
    }
    if (kind != Class::finite || expected != Class::finite) continue;
    const double error = std::fabs(got - exact);
    if (worst < 0 || error > result.max_abs) worst = static_cast<int64_t>(k);
    result.max_abs = std::max(result.max_abs, error);
    if (exact != 0) result.max_rel = std::max(result.max_rel, error / std::fabs(exact));
    out_error.add(got - exact);
    magnitude.add(exact);
    if (std::isfinite(step)) stepwise_error.add(step - exact);
  }
  if (result.mismatches > 0 && result.nans != result.nans_expected)
    result.reason =
        str("NaN in ", result.nans, " of ", out.f.size(), " elements, where the reference has ",
            result.nans_expected, "; ", result.reason);
  const double ulp = std::ldexp(1.0, -info(out.dtype).mantissa_bits);
  result.rmse_out = out_error.root();
  result.rmse_stepwise = stepwise_error.root();
  result.noise = noise_of(noisy, ideal, largest);
  result.limit =
      std::max(2 * result.rmse_stepwise + 4 * ulp * magnitude.root(), kNoiseShare * result.noise);
  if (result.rmse_out <= result.limit) return;
  const size_t k = static_cast<size_t>(worst);
  fail(result, str("RMSE ", result.rmse_out, " exceeds ", result.limit, "; worst element ",
                   index_text(worst, out.shape), " is ", out.f[k], " where the reference has ",
                   ideal.f[k]));
}

void compare_integers(const RefTensor& out, const RefTensor& ideal, const RefTensor& stepwise,
                      std::span<const RefTensor> noisy, Comparison& result) {
  for (size_t k = 0; k < out.i.size(); ++k) {
    if (out.i[k] == ideal.i[k] || out.i[k] == stepwise.i[k]) continue;
    if (std::ranges::any_of(noisy, [&](const RefTensor& draw) { return draw.i[k] == out.i[k]; }))
      continue;
    const double error = std::fabs(static_cast<double>(out.i[k]) - static_cast<double>(ideal.i[k]));
    result.max_abs = std::max(result.max_abs, error);
    if (++result.mismatches == 1)
      fail(result, str("element ", index_text(static_cast<int64_t>(k), out.shape), " is ", out.i[k],
                       " where the reference has ", ideal.i[k]));
  }
}

}  // namespace

Comparison compare(const RefTensor& out, const RefTensor& ideal, const RefTensor& stepwise,
                   std::span<const RefTensor> noisy) {
  TCC_CHECK(ideal.dtype == stepwise.dtype, "the references' types differ");
  // Rounding may decide how many results a run counts: it is held to the one with as many.
  if (ideal.shape != stepwise.shape)
    return out.shape == stepwise.shape ? compare(out, stepwise, stepwise, {})
                                       : compare(out, ideal, ideal, {});
  Comparison result;
  if (out.dtype != ideal.dtype || out.shape != ideal.shape) {
    fail(result, str("is ", type_text(out.dtype, out.shape), " where the reference is ",
                     type_text(ideal.dtype, ideal.shape)));
  } else if (out.is_float()) {
    compare_floats(out, ideal, stepwise, noisy, result);
  } else {
    compare_integers(out, ideal, stepwise, noisy, result);
  }
  return result;
}

}  // namespace tcc::ir
