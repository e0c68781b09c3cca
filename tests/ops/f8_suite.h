// f8 on devices, bit by bit: every code, and every place where rounding to f8 changes its mind. A
// file that includes this says on which devices.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "tests/run_graph.h"

namespace tcc::test {

constexpr DType kF8[] = {DType::f8e4m3, DType::f8e5m2};

// All codes, as a square.
inline Tensor f8_codes(DType dtype) {
  Tensor codes(dtype, {16, 16});
  for (int i = 0; i < 256; ++i)
    codes.as<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  return codes;
}

// The middles between neighbours of both kinds of f8 and their neighbours in `dtype`, and the
// specials of `dtype`; an odd number of elements.
inline Tensor f8_ties(DType dtype) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {std::nan(""), inf,   -inf,   0.0,     -0.0,    464,    480,
                                -512,         61440, 65536,  -1e30,   1e-40,   -1e-40, 0x1p-126,
                                3e38,         1e300, 1e-300, 0x1p-10, 0x1p-17, 7};
  const auto beside = [&](double x, double towards) {
    return dtype == DType::f64 ? std::nextafter(x, towards)
                               : std::nextafter(static_cast<float>(x), static_cast<float>(towards));
  };
  for (const DType kind : kF8) {
    const Tensor codes = f8_codes(kind);
    for (int64_t i = 0; i < 255; ++i) {
      double here = codes.get(i), next = codes.get(i + 1);
      if (std::isnan(here) || std::isinf(here)) continue;
      if (!std::isfinite(next)) next = 2 * here - codes.get(i - 1);  // were there one more
      const double middle = (here + next) / 2;
      for (const double x : {here, middle, beside(middle, -inf), beside(middle, inf)})
        values.push_back(x);
    }
  }
  if (values.size() % 2 == 0) values.push_back(1);
  Tensor ties(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) ties.set(static_cast<int64_t>(i), values[i]);
  return ties;
}

class F8 : public ::testing::TestWithParam<std::string> {
 protected:
  ir::Value* input(const Tensor& tensor) {
    inputs_.push_back(tensor);
    return graph_.add_input(str("x", inputs_.size()),
                            {tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}});
  }
  void output(ir::Value* value, const Tensor& expected) {
    graph_.outputs.push_back(value);
    graph_.output_names.push_back(str("y", expected_.size()));
    expected_.push_back(expected);
  }
  // Equal values, but any NaN, and equal signs of zeros.
  void check() {
    const std::vector<Tensor> got = run_on_device(graph_, GetParam(), inputs_, {});
    ASSERT_EQ(got.size(), expected_.size());
    for (size_t k = 0; k < got.size(); ++k)
      for (int64_t i = 0; i < got[k].numel(); ++i) {
        const double a = got[k].get(i), b = expected_[k].get(i);
        ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b))
            << graph_.outputs[k]->name << " " << type_text(got[k].dtype(), got[k].shape())
            << ", element " << i << ": " << a << " instead of " << b;
      }
  }

  ir::Graph graph_;
  ir::Builder b_{graph_};

 private:
  std::vector<Tensor> inputs_, expected_;
};

// Read in vectors and one by one.
TEST_P(F8, EveryCodeIsWidened) {
  for (const DType kind : kF8) {
    const Tensor codes = f8_codes(kind);
    Tensor turned(kind, {16, 16}), odd(kind, {5, 51});
    for (int64_t i = 0; i < 256; ++i)
      turned.as<uint8_t>()[static_cast<size_t>(i % 16 * 16 + i / 16)] = static_cast<uint8_t>(i);
    for (int64_t i = 0; i < 255; ++i)
      odd.as<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(i + 1);
    ir::Value *x = input(codes), *y = input(odd);
    for (const DType wide : {DType::f32, DType::f16, DType::bf16}) {
      output(b_.cast(x, wide), cast(codes, wide));
      output(b_.cast(b_.transpose(x, 0, 1), wide), cast(turned, wide));
      output(b_.cast(y, wide), cast(odd, wide));
    }
    output(b_.op("identity", {x}), codes);
    output(b_.transpose(x, 0, 1), turned);
  }
  check();
}

TEST_P(F8, EveryTieIsRoundedToEven) {
  const bool has_f64 = open_once(GetParam())->target().float64;
  for (const DType from : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    if (from == DType::f64 && !has_f64) continue;
    const Tensor ties = f8_ties(from);
    ir::Value* x = input(ties);
    for (const DType kind : kF8) {
      output(b_.cast(x, kind), cast(ties, kind));
      // Rounded in a register: nothing of f8 is stored.
      output(b_.cast(b_.cast(x, kind), DType::f32), cast(cast(ties, kind), DType::f32));
    }
  }
  check();
}

TEST_P(F8, IntegersAreRoundedOnce) {
  Tensor x(DType::i32, {1601});
  for (int64_t i = 0; i < x.numel(); ++i)
    x.set_int(i, i < 1200 ? i - 600 : (i - 1400) * ((int64_t{1} << 23) + 1));
  ir::Value* value = input(x);
  for (const DType kind : kF8) output(b_.cast(value, kind), cast(x, kind));
  check();
}

TEST_P(F8, SaturationKeepsNaN) {
  const Tensor ties = f8_ties(DType::f32);
  ir::Value* x = input(ties);
  for (const DType kind : kF8) {
    Tensor expected(kind, ties.shape());
    const double most = info(kind).largest;
    for (int64_t i = 0; i < ties.numel(); ++i)
      expected.set(i, std::isnan(ties.get(i)) ? ties.get(i) : std::clamp(ties.get(i), -most, most));
    output(b_.op("to", {x}, {{"dtype", kind}, {"saturate", true}}), expected);
  }
  check();
}

}  // namespace tcc::test
