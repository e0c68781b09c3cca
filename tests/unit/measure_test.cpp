// Measuring in this process: gates, samples, duels; on Vulkan and on the null device.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "autotune/bench.h"
#include "autotune/clocks.h"
#include "autotune/sampling.h"
#include "support/error.h"
#include "tests/unit/bench_kernels.h"

namespace tcc::autotune {
namespace {

using test::Behaviour;
using Status = Measurement::Status;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// ---- how many samples

// Runs of these seconds, over and over, counted.
struct Runs {
  std::vector<double> seconds;
  size_t count = 0;
  std::vector<double> operator()(size_t some) {
    std::vector<double> result;
    for (size_t n = 0; n < some; ++n) result.push_back(seconds[count++ % seconds.size()]);
    return result;
  }
};

TEST(SamplingTest, SteadyKernelsNeedFewSamples) {
  Runs steady{{1e-5, 1.001e-5}};
  const auto samples = take_samples(std::ref(steady), Effort::full, 1e-5);
  EXPECT_EQ(samples.size(), 10u);
  EXPECT_EQ(steady.count, 15u);  // after one batch of warm-up
  Runs again{{1e-5, 1.001e-5}};
  EXPECT_EQ(take_samples(std::ref(again), Effort::quick, 1e-5).size(), 5u);
}

TEST(SamplingTest, NoisyKernelsGetMoreSamplesAndWarmUp) {
  Runs noisy{{1e-5, 2e-5, 1.5e-5, 3e-5, 1.1e-5, 2.2e-5, 1.7e-5}};
  const auto samples = take_samples(std::ref(noisy), Effort::full, 1e-5);
  EXPECT_EQ(samples.size(), 50u);
  EXPECT_EQ(noisy.count, 150u);
}

TEST(SamplingTest, WarmUpEndsWhenTimesAreStable) {
  // Clocks rise: each run is faster than the last, until they stay.
  std::vector<double> seconds;
  for (int n = 0; n < 20; ++n) seconds.push_back(1e-5 * (2 - n * 0.05));
  seconds.resize(1000, 1e-5);
  Runs rising{seconds};
  const auto samples = take_samples(std::ref(rising), Effort::full, 2e-5);
  for (const double sample : samples) EXPECT_EQ(sample, 1e-5);
}

TEST(SamplingTest, LongKernelsRunThrice) {
  Runs slow{{1.0, 1.2}};
  EXPECT_EQ(take_samples(std::ref(slow), Effort::full, 1).size(), 3u);
  EXPECT_EQ(slow.count, 3u);
  Runs quick{{0.02, 0.03}};
  EXPECT_EQ(take_samples(std::ref(quick), Effort::quick, 0.02).size(), 3u);
  Runs middling{{0.02, 0.03}};
  EXPECT_LE(take_samples(std::ref(middling), Effort::full, 0.025).size(), 10u);
}

TEST(SamplingTest, PairsAreTakenUntilBothArePrecise) {
  Runs steady{{1e-5}}, noisy{{1e-5, 2.5e-5, 1.7e-5, 3e-5, 1.1e-5, 2.2e-5, 1.5e-5}};
  const auto both = [&](size_t count) { return SamplePairs{steady(count), noisy(count)}; };
  const auto [a, b] = take_pairs(both, 1e-5);
  EXPECT_EQ(a.size(), 50u);
  EXPECT_EQ(b.size(), 50u);
  Runs other{{2e-5}};
  const auto calm = [&](size_t count) { return SamplePairs{steady(count), other(count)}; };
  EXPECT_EQ(take_pairs(calm, 1e-5).second, std::vector<double>(10, 2e-5));
  // Fewer than six pairs do not decide which is faster; for very long runs several duels do.
  for (const auto& [seconds, expected] : {std::pair(0.06, 6u), {2.0, 3u}}) {
    Runs slow{{seconds}}, slower{{seconds * 1.2}};
    const auto long_ones = [&](size_t count) { return SamplePairs{slow(count), slower(count)}; };
    EXPECT_EQ(take_pairs(long_ones, seconds).first.size(), expected);
  }
}

TEST(ClocksTest, WithoutAnAddressNothingIsKnown) {
  const Clocks clocks = read_clocks("");
  EXPECT_EQ(clocks.sm_mhz, 0);
  EXPECT_EQ(clocks.memory_mhz, 0);
  EXPECT_EQ(clocks.throttle, "");
}

// ---- inputs

TEST(BenchJobTest, InputsAreSeededAndInRange) {
  BenchJob job = test::job();
  job.inputs = {{DType::f32, 1100000, 0.5, 0.75, 0, 100}, {DType::i32, 1000, -1, 1, -3, 4}};
  const auto bytes = input_data(job, 0);
  std::vector<float> floats(1100000);
  ASSERT_EQ(bytes.size(), floats.size() * sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  for (const float value : floats) ASSERT_TRUE(value >= 0.5f && value <= 0.75f) << value;
  // The pattern begins again after a prime number of elements.
  EXPECT_EQ(floats[1000003], floats[0]);
  EXPECT_NE(floats[1000000], floats[0]);
  EXPECT_EQ(input_data(job, 0), bytes);
  std::vector<int32_t> integers(1000);
  std::memcpy(integers.data(), input_data(job, 1).data(), 4000);
  for (const int32_t value : integers) ASSERT_TRUE(value >= -3 && value < 4) << value;
  job.seed = 8;
  EXPECT_NE(input_data(job, 0), bytes);
}

// ---- on devices

class LocalBenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runtime::device_kind("vulkan").list().devices.empty()) GTEST_SKIP() << "no Vulkan device";
    if (const auto missing = backends::glsl_compiler_missing(); !missing.empty())
      GTEST_SKIP() << missing;
    device_ = runtime::open_device("vulkan:0");
  }
  std::shared_ptr<runtime::Device> device_;
};

TEST_F(LocalBenchTest, RightKernelsAreTimed) {
  const auto bench = local_bench(device_, test::job());
  const Measurement m = bench->baseline(test::kernel(Behaviour::good));
  ASSERT_EQ(m.status, Status::measured) << m.reason;
  EXPECT_GT(m.low, 0);
  EXPECT_LE(m.low, m.seconds);
  EXPECT_GE(m.high, m.seconds);
  EXPECT_GE(m.samples.size(), 10u);
  EXPECT_LE(bench->measure(test::kernel(Behaviour::good), Effort::quick, kUnknown).samples.size(),
            5u);
  EXPECT_EQ(bench->measure(test::kernel(Behaviour::good), Effort::full, 1e-12).status,
            Status::slow);
}

TEST_F(LocalBenchTest, WrongKernelsAreFound) {
  const auto bench = local_bench(device_, test::job());
  ASSERT_EQ(bench->baseline(test::kernel(Behaviour::good)).status, Status::measured);
  const auto reason = [&](const exec::StandaloneKernel& kernel, Status status) {
    const Measurement m = bench->measure(kernel, Effort::quick, kUnknown);
    EXPECT_EQ(name(m.status), name(status)) << m.reason;
    return m.reason;
  };
  EXPECT_NE(reason(test::kernel(Behaviour::wrong), Status::wrong).find("element 77"),
            std::string::npos);
  EXPECT_EQ(reason(test::kernel(Behaviour::outside), Status::wrong), "wrote outside output 0");
  // Elements that are not written are poison, not what an earlier kernel left.
  EXPECT_NE(reason(test::kernel(Behaviour::nothing), Status::wrong).find("element 0 is"),
            std::string::npos);
  exec::StandaloneKernel other = test::kernel(Behaviour::good);
  other.num_arguments = 3;
  EXPECT_EQ(reason(other, Status::refused), "a kernel of 3 arguments where 'twice' has 2");
  reason(test::kernel(Behaviour::broken_code), Status::refused);
  reason(test::kernel(Behaviour::good), Status::measured);
}

TEST_F(LocalBenchTest, TheDefaultKernelIsHeldAgainstTheReference) {
  BenchJob job = test::job();
  const std::vector<std::byte> data = input_data(job, 0);
  for (const int64_t element : {int64_t{0}, int64_t{77}, test::kElements - 1}) {
    float x = 0;
    std::memcpy(&x, &data[static_cast<size_t>(element) * sizeof x], sizeof x);
    job.reference.push_back({0, element, 2.0 * x});
  }
  const auto bench = local_bench(device_, job);
  const Measurement wrong = bench->baseline(test::kernel(Behaviour::wrong));
  EXPECT_EQ(wrong.status, Status::wrong);
  EXPECT_TRUE(wrong.reason.starts_with("RMSE ")) << wrong.reason;  // callers say of what
  EXPECT_THROW(bench->measure(test::kernel(Behaviour::good), Effort::quick, kUnknown),
               InternalError);
  EXPECT_EQ(bench->baseline(test::kernel(Behaviour::good)).status, Status::measured);
}

TEST_F(LocalBenchTest, DuelsTellTheFasterOne) {
  const auto bench = local_bench(device_, test::job());
  ASSERT_EQ(bench->baseline(test::kernel(Behaviour::good)).status, Status::measured);
  const auto [slower, good] =
      bench->duel(test::kernel(Behaviour::slower), test::kernel(Behaviour::good));
  ASSERT_EQ(slower.status, Status::measured) << slower.reason;
  EXPECT_EQ(slower.samples.size(), good.samples.size());
  EXPECT_GT(slower.low, good.high);
}

// It runs nothing: there is nothing to hold against a reference.
TEST(NullBenchTest, Measures) {
  BenchJob job = test::job();
  job.reference = {{0, 0, 1}};
  const auto bench = local_bench(runtime::open_device("null"), job);
  exec::StandaloneKernel kernel;
  kernel.num_arguments = 2;
  EXPECT_EQ(bench->baseline(kernel).status, Status::measured);
  EXPECT_GT(bench->measure(kernel, Effort::full, kUnknown).seconds, 0);
}

}  // namespace
}  // namespace tcc::autotune
