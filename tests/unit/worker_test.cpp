// Worker processes: what a candidate does to its device or process costs that candidate alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "autotune/worker_protocol.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/sanitized.h"
#include "tests/unit/bench_kernels.h"

namespace tcc::autotune {
namespace {

using test::Behaviour;
using Status = Measurement::Status;

constexpr double kUnknown = std::numeric_limits<double>::infinity();

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = runtime::device_kind("vulkan").list().devices;
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

  const std::string fault = ::tcc::test::kSanitized ? "the worker exited" : "killed by SIGSEGV";
  const struct {
    Behaviour behaviour;
    Status status;
    std::string reason;
    int replaced;
  } cases[] = {
      {Behaviour::wrong, Status::wrong, "element 77", 0},
      {Behaviour::outside, Status::wrong, "wrote outside output 0", 0},
      {Behaviour::nothing, Status::wrong, "element 0", 0},
      {Behaviour::fault, Status::crashed, fault, 2},  // tried again in a fresh one
      {Behaviour::fault, Status::crashed, fault, 1},
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
  if (::tcc::test::kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows";
  WorkerOptions options;
  options.growth_bytes = int64_t{2} << 20;
  // Shaders that Mesa finds in its cache need no compiler.
  ::setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  const auto workers = pool(options);
  ::unsetenv("MESA_SHADER_CACHE_DISABLE");
  const auto bench = workers->bench(test::job());
  ASSERT_EQ(bench->baseline(test::kernel(Behaviour::good)).status, Status::measured);
  for (int n = 0; n < 5; ++n) EXPECT_EQ(quick(*bench, Behaviour::good).status, Status::measured);
  EXPECT_EQ(workers->replaced(), 0);
  const Measurement bulky = quick(*bench, Behaviour::bulky);
  EXPECT_EQ(bulky.status, Status::measured) << bulky.reason;
  EXPECT_EQ(quick(*bench, Behaviour::good).status, Status::measured);
  EXPECT_EQ(workers->replaced(), 1);
}

// Sweeps of several kernels take turns on one worker.
TEST_F(WorkerTest, BenchesShareAWorkerAndSurviveItsReplacement) {
  const auto workers = pool();
  const auto one = workers->bench(test::job());
  ASSERT_EQ(one->baseline(test::kernel(Behaviour::good)).status, Status::measured);
  BenchJob negative = test::job();
  negative.seed = 8;
  negative.reference = {{0, 5, -1000}};
  auto two = workers->bench(negative);
  const Measurement refuted = two->baseline(test::kernel(Behaviour::good));
  EXPECT_EQ(refuted.status, Status::wrong) << refuted.reason;
  EXPECT_THROW(quick(*two, Behaviour::good), InternalError);
  two = workers->bench(test::job());
  ASSERT_EQ(two->baseline(test::kernel(Behaviour::slower)).status, Status::measured);
  EXPECT_EQ(quick(*one, Behaviour::good).status, Status::measured);
  EXPECT_EQ(quick(*one, Behaviour::fault).status, Status::crashed);
  EXPECT_EQ(quick(*two, Behaviour::good).status, Status::measured);
  EXPECT_EQ(quick(*one, Behaviour::good).status, Status::measured);
  EXPECT_EQ(workers->replaced(), 1);
  const auto [slower, good] =
      one->duel(test::kernel(Behaviour::slower), test::kernel(Behaviour::good));
  EXPECT_EQ(slower.status, Status::measured) << slower.reason;
  EXPECT_GT(slower.low, good.high);
}

TEST_F(WorkerTest, BuffersThatDoNotFitAreAnErrorOfTheJobAlone) {
  const auto workers = pool();
  BenchJob large = test::job();
  large.inputs[0].elements = int64_t{1} << 39;
  EXPECT_ERROR_KIND(workers->bench(large), ErrorKind::device, "");
  const auto bench = workers->bench(test::job());
  EXPECT_EQ(bench->baseline(test::kernel(Behaviour::good)).status, Status::measured);
}

TEST(WorkerPoolTest, MissingDevicesAndProgramsAreErrors) {
  EXPECT_ERROR_KIND(make_worker_pool("vulkan:99"), ErrorKind::no_device, "");
  WorkerOptions options;
  options.program = "/nonexistent/tcc-worker";
  EXPECT_ERROR_KIND(make_worker_pool("null", options), ErrorKind::device,
                    "cannot start /nonexistent/tcc-worker");
  options.program = "/bin/false";
  EXPECT_ERROR_KIND(make_worker_pool("null", options), ErrorKind::device, "exited with code 1");
  ::setenv("TCC_WORKER", "/nonexistent/worker", 1);
  EXPECT_ERROR_KIND(make_worker_pool("null"), ErrorKind::device, "TCC_WORKER");
  ::unsetenv("TCC_WORKER");
}

// ---- what is said

TEST(WorkerProtocolTest, JobsKernelsAndMeasurementsComeBack) {
  BenchJob job = test::job();
  job.combined = 12.5;
  job.inputs.push_back({DType::i64, 3, 0, 1, -5, 5});
  job.outputs.push_back({DType::f32, 9, DType::bf16, 0.25});
  job.reference = {{0, 3, 0.1}, {1, 8, -INFINITY}};
  const BenchJob back = job_from_json(to_json(job));
  EXPECT_EQ(to_json(back), to_json(job));
  EXPECT_EQ(back.outputs[1].rounded, DType::bf16);
  EXPECT_EQ(back.outputs[1].noise, 0.25);
  EXPECT_EQ(back.reference, job.reference);

  exec::StandaloneKernel kernel;
  kernel.entry = "main";
  kernel.code = {1, 2, 255};
  kernel.workgroup = 64;
  kernel.grid = {3, 2, 1};
  kernel.num_arguments = 2;
  kernel.argument_table = true;
  EXPECT_EQ(to_json(kernel_from_json(to_json(kernel))), to_json(kernel));
  EXPECT_EQ(kernel_from_json(to_json(kernel)).launches.at(0).kernel.code, kernel.code);

  Measurement measured;
  measured.status = Status::slow;
  measured.samples = {1e-6, 2e-6};
  measured.clocks = {1980, 3201, "power cap"};
  measured.reason = "slow";
  const auto list = measurements_from_json(nlohmann::json::array({to_json(measured)}));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(to_json(list[0]), to_json(measured));
}

TEST(WorkerProtocolTest, WhatIsNoMessageIsRefused) {
  auto job = to_json(test::job());
  job["outputs"][0]["elements"] = -1;
  EXPECT_ERROR_KIND(job_from_json(job), ErrorKind::bad_input, "a buffer's size is -1");
  job = to_json(test::job());
  job["reference"] = {{0, test::kElements, 1.0}};
  EXPECT_ERROR_KIND(job_from_json(job), ErrorKind::bad_input, "a sample's element");
  job = to_json(test::job());
  job["inputs"][0]["dtype"] = "f7";
  EXPECT_ERROR_KIND(job_from_json(job), ErrorKind::bad_input, "no dtype 'f7'");
  EXPECT_ERROR_KIND(job_from_json(nullptr), ErrorKind::bad_input, "bad job");
  exec::StandaloneKernel kernel;
  kernel.workgroup = 1 << 20;
  EXPECT_ERROR_KIND(kernel_from_json(to_json(kernel)), ErrorKind::bad_input,
                    "a workgroup is 1048576");
  EXPECT_ERROR_KIND(kernel_from_json("rubbish"), ErrorKind::bad_input, "bad kernel");
  EXPECT_ERROR_KIND(measurements_from_json({{{"status", 17}}}), ErrorKind::bad_input, "a status");
  const std::vector<uint8_t> rubbish = {0xff, 0x00, 0x13};
  EXPECT_ERROR_KIND(decode_frame(rubbish), ErrorKind::bad_input, "bad message");
  const std::vector<uint8_t> huge = {0xff, 0xff, 0xff, 0xff};
  EXPECT_ERROR_KIND(frame_size(huge), ErrorKind::bad_input, "a message of 4294967295 bytes");
}

}  // namespace
}  // namespace tcc::autotune
