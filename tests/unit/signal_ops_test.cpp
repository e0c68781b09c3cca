// fft, stft and what they are made of, against plain sums and numbers written down.
#include <cmath>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

#include "ir/op.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::run;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;
using Complex = std::complex<double>;

void expect_near(const Numbers& actual, const Numbers& expected, double tolerance = 1e-9) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) EXPECT_NEAR(actual[k], expected[k], tolerance) << k;
}

// Numbers without a pattern, in [-2, 2).
Numbers mixed(size_t count) {
  Numbers x(count);
  uint32_t state = 12345;
  for (double& value : x) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<double>(state >> 8) / (1 << 22) - 2;
  }
  return x;
}

std::vector<Complex> transform(const std::vector<Complex>& x, int sign) {
  const size_t n = x.size();
  std::vector<Complex> y(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      y[k] += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                         static_cast<double>(n));
  return y;
}

std::vector<Complex> paired(const Numbers& x) {
  std::vector<Complex> y;
  for (size_t k = 0; k < x.size(); k += 2) y.emplace_back(x[k], x[k + 1]);
  return y;
}

Numbers flat(const std::vector<Complex>& x, size_t count, double scale = 1) {
  Numbers y;
  for (size_t k = 0; k < count; ++k) y.insert(y.end(), {x[k].real() * scale, x[k].imag() * scale});
  return y;
}

// The transforms are made by one product (257 is a prime) and by two.
TEST(Fft, IsTheSumThatItStandsFor) {
  for (const int64_t n : {1, 2, 7, 12, 256, 257, 300}) {
    SCOPED_TRACE(n);
    const auto count = static_cast<size_t>(n);
    const Numbers x = mixed(2 * count);
    expect_near(run("fft", {f32({n, 2}, x)}).f, flat(transform(paired(x), -1), count), 1e-6);
    expect_near(run("fft", {f32({n, 2}, x)}, {{"inverse", true}}).f,
                flat(transform(paired(x), 1), count, 1 / static_cast<double>(n)), 1e-6);
  }
}

TEST(Fft, OfALongImpulseTurnsEvenly) {
  const int64_t n = 1 << 17;  // factors of 256 and 512 are split again
  RefTensor x(DType::f32, {n, 1});
  x.f[1] = 1;
  const RefTensor y = run("fft", {x});
  for (const size_t k : {0, 1, 1000, 65536, 100001}) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    EXPECT_NEAR(y.f[2 * k], std::cos(angle), 1e-6) << k;
    EXPECT_NEAR(y.f[2 * k + 1], std::sin(angle), 1e-6) << k;
  }
}

TEST(Fft, PadsAndCuts) {
  const Numbers x = {1, 2, 3};
  const std::vector<Complex> padded = {1, 2, 3, 0, 0}, cut = {1, 2};
  expect_near(run("fft", {f32({1, 3, 1}, x)}, {{"n", 5}}).f, flat(transform(padded, -1), 5));
  expect_near(run("fft", {f32({1, 3, 1}, x)}, {{"n", 2}, {"norm", "ortho"}}).f,
              flat(transform(cut, -1), 2, 1 / std::sqrt(2.0)));
}

TEST(Fft, OfRealNumbersAndBack) {
  for (const int64_t n : {4, 5, 257, 315, 510}) {
    SCOPED_TRACE(n);
    const Numbers x = mixed(static_cast<size_t>(n));
    const RefTensor half = run("fft", {f32({n, 1}, x)}, {{"onesided", true}});
    EXPECT_EQ(half.shape, (Dims{n / 2 + 1, 2}));
    const RefTensor back = run("fft", {half}, {{"onesided", true}, {"inverse", true}, {"n", n}});
    EXPECT_EQ(back.shape, (Dims{n, 1}));
    expect_near(back.f, x, 1e-6);
  }
  EXPECT_ERROR(test::infer("fft", {{DType::f32, {4, 2}}}, {{"onesided", true}}),
               "a onesided transform takes a real x");
  EXPECT_ERROR(test::infer("fft", {{DType::f32, {4, 3}}}), "x must be [..., 1] (real)");
}

TEST(Fft, AlongAnyDim) {
  const Numbers x = mixed(12);
  const RefTensor y = run("fft", {f32({3, 4, 1}, x)}, {{"dim", 0}});
  ASSERT_EQ(y.shape, (Dims{3, 4, 2}));
  for (size_t c = 0; c < 4; ++c) {
    const auto column = transform({x[c], x[4 + c], x[8 + c]}, -1);
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(y.f[(k * 4 + c) * 2 + 1], column[k].imag(), 1e-9);
  }
}

TEST(Stft, TransformsWindowedFrames) {
  const Numbers x = mixed(20), window = {0.5, 1, 1, 0.25};
  const RefTensor y = run("stft", {f32({1, 20}, x), f32({4}, window)},
                          {{"n_fft", 6}, {"hop_length", 5}, {"center", false}});
  ASSERT_EQ(y.shape, (Dims{1, 4, 3, 2}));
  for (size_t frame = 0; frame < 3; ++frame) {
    std::vector<Complex> part(6);  // the window stands in the middle
    for (size_t k = 0; k < 4; ++k) part[k + 1] = x[frame * 5 + k + 1] * window[k];
    const auto expected = transform(part, -1);
    for (size_t bin = 0; bin < 4; ++bin) {
      EXPECT_NEAR(y.f[(bin * 3 + frame) * 2], expected[bin].real(), 1e-6);
      EXPECT_NEAR(y.f[(bin * 3 + frame) * 2 + 1], expected[bin].imag(), 1e-6);
    }
  }
}

TEST(Stft, CentersItsFrames) {
  const Numbers x = {1, 2, 3, 4, 5, 6, 7, 8};
  const RefTensor y = run("stft", {f32({8}, x)}, {{"n_fft", 4}});
  ASSERT_EQ(y.shape, (Dims{3, 9, 2}));
  EXPECT_NEAR(y.f[0], 3 + 2 + 1 + 2, 1e-6);   // mirrored before the first
  EXPECT_NEAR(y.f[16], 7 + 6 + 8 + 7, 1e-6);  // and behind the last
}

TEST(Windows, ArePeriodicOrSymmetric) {
  expect_near(run("hann_window", {}, {{"window_length", 4}}).f, {0, 0.5, 1, 0.5});
  expect_near(run("hann_window", {}, {{"window_length", 3}, {"periodic", false}}).f, {0, 1, 0});
  expect_near(run("hamming_window", {}, {{"window_length", 2}}).f, {0.08, 1});
  expect_near(run("blackman_window", {}, {{"window_length", 4}}).f, {0, 0.34, 1, 0.34});
  expect_near(run("hann_window", {}, {{"window_length", 1}, {"periodic", false}}).f, {1});
}

// ONNX's conformance case.
TEST(MelWeightMatrix, IsMadeOfTriangles) {
  const RefTensor m = run("mel_weight_matrix", {},
                          {{"num_mel_bins", 8},
                           {"dft_length", 16},
                           {"sample_rate", 8192},
                           {"lower_edge_hertz", 0.0},
                           {"upper_edge_hertz", 4096.0}});
  EXPECT_EQ(m.shape, (Dims{9, 8}));
  expect_near({m.f.begin(), m.f.begin() + 32}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0,
                                                0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
}

}  // namespace
}  // namespace tcc::ir
