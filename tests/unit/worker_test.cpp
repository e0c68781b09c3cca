// Worker processes: what a candidate does to its device or process costs that candidate alone.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <limits>

#include "autotune/worker_protocol.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/unit/bench_kernels.h"

namespace tcc::autotune {
namespace {

using test::Behaviour;
using Status = Measurement::Status;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = runtime::list_vulkan().devices;
    if (devices.empty()) GTEST_SKIP() << "no Vulkan device";
    if (const auto missing = backends::glsl_compiler_missing(); !missing.empty())
      GTEST_SKIP() << missing;
    device_ = devices[0].name;
    // A wild address or an endless loop would disturb others on a real GPU.
    if (!runtime::open_device(device_)->target().is_cpu) GTEST_SKIP() << "no software device";
  }

  std::unique_ptr<WorkerPool> pool(WorkerOptions options = {}) {
    options.limit_seconds = 2;
    return make_worker_pool(device_, options);
  }

  std::string device_;
};

Measurement quick(Bench& bench, Behaviour behaviour) {
  return bench.measure(test::kernel(behaviour), Effort::quick, kUnknown);
}

TEST_F(WorkerTest, EveryFailureCostsOneCandidate) {
  const auto workers = pool();
  const auto bench = workers->bench(test::job());
  const Measurement baseline = bench->baseline(test::kernel(Behaviour::good));
  ASSERT_EQ(baseline.status, Status::measured) << baseline.reason;

  const struct {
    Behaviour behaviour;
    Status status;
    std::string reason;
    int replaced;
  } cases[] = {
      {Behaviour::wrong, Status::wrong, "element 77", 0},
      {Behaviour::outside, Status::wrong, "wrote outside output 0", 0},
      {Behaviour::nothing, Status::wrong, "element 0", 0},
      {Behaviour::fault, Status::crashed, "killed by SIGSEGV", 2},  // tried again in a fresh one
      {Behaviour::fault, Status::crashed, "killed by SIGSEGV", 1},
      {Behaviour::hang, Status::hung, "ran past 2 s", 1},
      {Behaviour::broken_code, Status::refused, "", 0},
  };
  int replaced = 0;
  for (const auto& one : cases) {
    const Measurement measured = quick(*bench, one.behaviour);
    EXPECT_EQ(name(measured.status), name(one.status)) << measured.reason;
    EXPECT_NE(measured.reason.find(one.reason), std::string::npos) << measured.reason;
    EXPECT_EQ(workers->replaced(), replaced += one.replaced) << measured.reason;
    const Measurement next = quick(*bench, Behaviour::good);
    EXPECT_EQ(next.status, Status::measured) << next.reason;
    EXPECT_GT(next.seconds, 0);
  }
}

TEST_F(WorkerTest, GrowingWorkersAreReplaced) {
  const auto roomy = pool();
  const auto calm = roomy->bench(test::job());
  ASSERT_EQ(calm->baseline(test::kernel(Behaviour::good)).status, Status::measured);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(quick(*calm, Behaviour::slower).status, Status::measured);
  EXPECT_EQ(roomy->replaced(), 0);
}

}  // namespace
}  // namespace tcc::autotune
