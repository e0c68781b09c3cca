// Worker processes on a CUDA device: faults poison a context for good, and cost one candidate.
#include <gtest/gtest.h>

#include <limits>

#include "autotune/bench.h"
#include "backends/compile/code.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Status = Measurement::Status;

constexpr int64_t kElements = 1 << 20;
constexpr int kWorkgroup = 256;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

exec::StandaloneKernel kernel(const std::string& statement) {
  exec::StandaloneKernel binary;
  binary.entry = "kernel_main";
  binary.workgroup = kWorkgroup;
  binary.grid = {kElements / kWorkgroup, 1, 1};
  binary.num_arguments = 2;
  binary.source =
      str("extern \"C\" __global__ void kernel_main(const float* x, float* y) {\n"
          "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n  ",
          statement, "\n}\n");
  binary.code = backends::compile_source(binary.source, "bench_kernel",
                                         runtime::open_device("cuda:0")->target(), nullptr, false);
  return binary;
}

TEST(WorkerGpuTest, PoisonedContextsAreReplaced) {
  if (runtime::device_kind("cuda").list().devices.empty()) GTEST_SKIP() << "no CUDA device";
  WorkerOptions options;
  options.limit_seconds = 5;
  const auto workers = make_worker_pool("cuda:0", options);
  BenchJob job;
  job.name = "twice";
  job.inputs = {{.dtype = DType::f32, .elements = kElements}};
  job.outputs = {{.dtype = DType::f32, .elements = kElements}};
  const auto bench = workers->bench(job);
  const exec::StandaloneKernel good = kernel("y[i] = 2.0f * x[i];");
  const Measurement baseline = bench->baseline(good);
  ASSERT_EQ(baseline.status, Status::measured) << baseline.reason;
  EXPECT_GT(baseline.clocks.sm_mhz, 0);
  EXPECT_GT(baseline.clocks.memory_mhz, 0);

  const struct {
    std::string statement;
    Status status;
    std::string reason;
    int replaced;
  } cases[] = {
      {"y[i] = 2.0f * x[i] + (i == 77);", Status::wrong, "element 77", 0},
      {"y[i] = 2.0f * x[i]; if (i == 0) y[-3] = 1;", Status::wrong, "wrote outside output 0", 0},
      // Tried again in a fresh worker: the one before may have been damaged.
      {"*(float*)64 = x[i];", Status::crashed, "ILLEGAL_ADDRESS", 2},
      {"*(float*)((char*)y + 1) = x[i];", Status::crashed, "MISALIGNED_ADDRESS", 1},
      {"asm(\"trap;\");", Status::crashed, "the device was lost", 1},
      {"volatile float* v = y; while (v[i] != 3.0f) {}", Status::hung, "ran past 5 s", 1},
  };
  int replaced = 0;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.statement);
    const Measurement measured = bench->measure(kernel(one.statement), Effort::quick, kUnknown);
    EXPECT_EQ(name(measured.status), name(one.status)) << measured.reason;
    EXPECT_NE(measured.reason.find(one.reason), std::string::npos) << measured.reason;
    EXPECT_EQ(workers->replaced(), replaced += one.replaced);
    const Measurement next = bench->measure(good, Effort::full, kUnknown);
    EXPECT_EQ(next.status, Status::measured) << next.reason;
  }
}

}  // namespace
}  // namespace tcc::autotune
