#include "frontend/random_init.h"

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "support/error.h"
#include "support/hash.h"

namespace tcc {
namespace {

std::string hash_of_tensor(const Tensor& tensor) {
  return Hasher{}.add_raw(tensor.data(), tensor.bytes()).hex();
}

TEST(RandomInit, PhiloxPublishedVectors) {  // Random123's known answers
  const struct {
    PhiloxWords counter;
    uint64_t key;
    PhiloxWords expected;
  } cases[] = {
      {{{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{~0u, ~0u, ~0u, ~0u}}, ~uint64_t{0}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       0x299f31d0a4093822,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(std::memcmp(philox(c.counter, c.key).word, c.expected.word, 16), 0);
}

// The values belong to the tool's contract: results of --seed N must be the same on every machine
// and in every version.
TEST(RandomInit, ValuesNeverChange) {
  const std::vector<int64_t> shape = {3, 1111};
  EXPECT_EQ(hash_of_tensor(random_tensor(DType::f32, shape, Init::normal(0.02), 1)),
            "d06de6c11161ecdf9b49bbaf95f1eb13");
  EXPECT_EQ(hash_of_tensor(random_tensor(DType::f32, shape, Init::uniform(-1, 1), 1)),
            "c042aea39d9092409508bbf939e957ed");
  EXPECT_EQ(hash_of_tensor(random_tensor(DType::i64, shape, Init::integers(-5, 50257), 1)),
            "13542074016a85221df3fa9937cefa4f");
  EXPECT_EQ(stream_seed(1, "w"), 5247302222174261260u);
}

TEST(RandomInit, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<int64_t> shape = {1000003};
  for (const Init& init : {Init::normal(1), Init::uniform(0, 1), Init::integers(0, 1000)}) {
    const Tensor many = random_tensor(DType::f32, shape, init, 9);
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(hash_of_tensor(random_tensor(DType::f32, shape, init, 9)), hash_of_tensor(many));
  }
}

TEST(RandomInit, APrefixIsTheSameAndSeedsDiffer) {
  for (const Init& init : {Init::normal(1), Init::uniform(0, 1), Init::integers(0, 1000000)}) {
    const Tensor all = random_tensor(DType::f64, {5000}, init, 2);
    for (int64_t count : {0, 1, 1023, 1024, 1025, 4999}) {
      const Tensor some = random_tensor(DType::f64, {count}, init, 2);
      EXPECT_TRUE(count == 0 || std::memcmp(some.data(), all.data(), some.bytes()) == 0);
    }
    int equal = 0;
    const Tensor other = random_tensor(DType::f64, {5000}, init, 3);
    for (int64_t i = 0; i < 5000; ++i) equal += other.get(i) == all.get(i);
    EXPECT_LT(equal, 5);
  }
  EXPECT_NE(stream_seed(1, "a"), stream_seed(1, "b"));
  EXPECT_NE(stream_seed(1, "a"), stream_seed(2, "a"));
}

TEST(RandomInit, EveryDTypeHoldsTheSameDraw) {
  const Tensor wide = random_tensor(DType::f32, {4099}, Init::normal(3), 4);
  for (const DTypeInfo& type : all_dtypes()) {
    const Tensor expected = cast(wide, type.dtype);
    EXPECT_EQ(hash_of_tensor(random_tensor(type.dtype, {4099}, Init::normal(3), 4)),
              hash_of_tensor(expected))
        << type.name;
  }
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(RandomInit, NormalsAreNormal) {
  const int64_t count = 4000000;
  Tensor tensor = random_tensor(DType::f32, {count}, Init::normal(2), 5);
  auto values = tensor.as<float>();
  double moments[5] = {};
  double lag[3] = {};  // neighbours, and the partners of Box and Muller's pairs
  for (int64_t i = 0; i < count; ++i) {
    const double x = values[i] / 2;
    double power = 1;
    for (int k = 1; k <= 4; ++k) moments[k] += (power *= x) / count;
    if (i + 512 < count) {
      lag[0] += x * values[i + 1] / 2 / count;
      lag[1] += x * values[i + 256] / 2 / count;
      lag[2] += x * x * values[i + 256] * values[i + 256] / 4 / count;
    }
  }
  const double sigma = 1 / std::sqrt(count);  // five deviations of each estimate
  EXPECT_NEAR(moments[1], 0, 5 * sigma);
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2) * sigma);
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15) * sigma);
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96) * sigma);
  EXPECT_NEAR(lag[0], 0, 5 * sigma);
  EXPECT_NEAR(lag[1], 0, 5 * sigma);
  EXPECT_NEAR(lag[2], 1, 15 * sigma);

  std::sort(values.begin(), values.end());
  double distance = 0;  // Kolmogorov and Smirnov's
  for (int64_t i = 0; i < count; ++i)
    distance = std::max(
        distance, std::fabs(normal_cdf(values[i] / 2) - (static_cast<double>(i) + 0.5) / count));
  EXPECT_LT(distance, 2.0 * sigma);
  // Tails: beyond 4 deviations 253 are expected, beyond 5 about 2.
  const auto beyond = [&](float limit) {
    return std::count_if(values.begin(), values.end(),
                         [&](float x) { return std::fabs(x) > 2 * limit; });
  };
  EXPECT_NEAR(static_cast<double>(beyond(4)), count * 2 * normal_cdf(-4), 80);
  EXPECT_GT(std::max(std::fabs(values.front()), std::fabs(values.back())), 2 * 4.7f);
}

TEST(RandomInit, UniformsFillTheirRange) {
  const int64_t count = 1000000;
  const Tensor tensor = random_tensor(DType::f32, {count}, Init::uniform(-3, 5), 6);
  std::vector<int> histogram(64);
  for (const float value : tensor.as<float>()) {
    ASSERT_GE(value, -3);
    ASSERT_LT(value, 5);
    histogram[static_cast<size_t>((value + 3) * 8)]++;
  }
  double chi_squared = 0;
  for (int cell : histogram) chi_squared += std::pow(cell - count / 64.0, 2) / (count / 64.0);
  EXPECT_LT(chi_squared, 63 + 5 * std::sqrt(2 * 63));
}

TEST(RandomInit, IntegersFillTheirRange) {
  for (DType dtype : {DType::i8, DType::u8, DType::i64, DType::f32, DType::bf16}) {
    const bool is_signed = info(dtype).is_signed;
    const int64_t low = is_signed ? -7 : 3;
    const Tensor tensor = random_tensor(dtype, {200000}, Init::integers(low, low + 10), 7);
    std::map<int64_t, int> histogram;
    for (int64_t i = 0; i < tensor.numel(); ++i) histogram[tensor.get_int(i)]++;
    EXPECT_EQ(histogram.size(), 10u);
    EXPECT_EQ(histogram.begin()->first, low);
    EXPECT_EQ(histogram.rbegin()->first, low + 9);
    for (const auto& [value, seen] : histogram) EXPECT_NEAR(seen, 20000, 5 * std::sqrt(20000));
  }
  const Tensor whole = random_tensor(DType::i64, {1000}, Init::integers(INT64_MIN, INT64_MAX), 8);
  int64_t negative = 0;
  for (int64_t value : whole.as<int64_t>()) negative += value < 0;
  EXPECT_NEAR(static_cast<double>(negative), 500, 100);
  const Tensor one = random_tensor(DType::boolean, {100}, Init::integers(0, 2), 8);
  for (uint8_t value : one.as<uint8_t>()) EXPECT_LE(value, 1);
}

TEST(RandomInit, Constants) {
  for (const DTypeInfo& type : all_dtypes()) {
    const Tensor zeros = random_tensor(type.dtype, {3000}, Init::zeros(), 1);
    const Tensor ones = random_tensor(type.dtype, {3000}, Init::ones(), 1);
    for (int64_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(zeros.get(i), 0);
      ASSERT_EQ(ones.get(i), 1);
    }
  }
  EXPECT_EQ(random_tensor(DType::f16, {}, Init::constant(0.1), 1).get(0),
            round_to(DType::f16, 0.1));
  EXPECT_TRUE(std::signbit(random_tensor(DType::f32, {}, Init::constant(-0.0), 1).get(0)));
}

TEST(RandomInit, RefusesDistributionsWithoutSense) {
  const auto kind_of = [](DType dtype, const Init& init) {
    try {
      random_tensor(dtype, {2}, init, 1);
    } catch (const Error& error) { return error.kind(); }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of(DType::f32, Init::uniform(1, 0)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::f32, Init::uniform(NAN, 0)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::f32, Init::uniform(0, INFINITY)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::f32, Init::normal(-1)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::f32, Init::normal(NAN)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::i32, Init::integers(5, 5)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::i8, Init::integers(0, 200)), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(DType::u64, Init::integers(-1, 5)), ErrorKind::bad_input);
}

}  // namespace
}  // namespace tcc
