// Conformance: kernels whose sizes come at run time are compiled once and run on many sizes, within
// one executable, in this program and in one that links libtcc-runtime alone.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "runtime/program.h"
#include "scheduler/kernel_parse.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"

namespace tcc::runtime {
namespace {

using exec::BufferInfo;
using ir::SymInt;

constexpr const char* kPointwise =
    "kernel scaled size n grid (n+63)//64 workgroup 64\n"
    "  b0: in f32[n]\n"
    "  b1: out f32[n]\n"
    "  if ([block*64+thread] < [n])\n"
    "    b1[block*64+thread] = ((load(b0, block*64+thread) * 2.0) + 1.0)\n";

// Rows of n columns, a thread for each.
constexpr const char* kReduction =
    "kernel row_sums size n size r grid (r+31)//32 workgroup 32\n"
    "  b0: in f32[n*r]\n"
    "  b1: out f32[r]\n"
    "  if ([block*32+thread] < [r])\n"
    "    var sum: f32 = 0.0\n"
    "    for c < n\n"
    "      sum = (sum + load(b0, (block*32+thread)*n+c))\n"
    "    b1[block*32+thread] = sum\n";

// Counts of five loops, whose ends are expressions of n, by each of 32 threads.
constexpr const char* kLoops =
    "kernel loops size n grid 1 workgroup 32\n"
    "  b0: in f32[n]\n"
    "  b1: out f32[160]\n"
    "  var count: f32 = 0.0\n"
    "  for a < n%8\n"
    "    count = (count + 1.0)\n"
    "  b1[thread*5] = count\n"
    "  for b < n%8+1\n"
    "    count = (count + 1.0)\n"
    "  b1[thread*5+1] = count\n"
    "  for c < (n+7)//8\n"
    "    count = (count + 1.0)\n"
    "  b1[thread*5+2] = count\n"
    "  for d < min(n, 5)\n"
    "    count = (count + 1.0)\n"
    "  b1[thread*5+3] = count\n"
    "  for e < n%6\n"
    "    count = (count + 1.0)\n"
    "  b1[thread*5+4] = count\n";

// Divisions of numbers that are not known to fit into 32 bits.
constexpr const char* kDivisions =
    "kernel divisions size n grid (n+63)//64 workgroup 64\n"
    "  b0: in f32[n+8]\n"
    "  b1: out f32[n]\n"
    "  if ([block*64+thread] < [n])\n"
    "    b1[block*64+thread] = load(b0, "
    "((block*64+thread)*40000)//40009+((block*64+thread)*70001)%7)\n";

// y = the kernel on x.
exec::Executable executable_of(const exec::StandaloneKernel& kernel, const exec::Target& target,
                               std::vector<SymInt> in, std::vector<SymInt> out) {
  exec::Executable e;
  e.name = kernel.region;
  e.target = target;
  for (const exec::Scalar& size : kernel.scalars) e.dims.push_back({size.value.to_string()});
  e.kernels.push_back(kernel);
  const auto add = [&](BufferInfo::Kind kind, const char* name, std::vector<SymInt> shape) {
    BufferInfo& buffer = e.buffers.emplace_back();
    buffer.kind = kind;
    buffer.name = name;
    buffer.strides = ir::row_major_strides(shape);
    buffer.bytes = ir::product(shape) * 4;
    buffer.shape = std::move(shape);
  };
  add(BufferInfo::Kind::input, "x", std::move(in));
  add(BufferInfo::Kind::output, "y", std::move(out));
  e.inputs = {0};
  e.outputs = {1};
  exec::KernelLaunch launch;
  launch.grid = kernel.grid;
  launch.loop_iterations = kernel.loop_iterations;
  launch.arguments = {exec::Address{0}, exec::Address{1}};
  launch.arguments.insert(launch.arguments.end(), kernel.scalars.begin(), kernel.scalars.end());
  e.steps = {launch};
  return e;
}

class SizedKernelsTest : public DeviceTest {
 protected:
  exec::StandaloneKernel compile(const char* text) { return compile(text, device->target()); }
  exec::StandaloneKernel compile(const char* text, const sched::Target& target) {
    backends::CompileOptions options;
    options.validate = true;
    return backends::compile_kernel(sched::parse_kernel(text), target, options);
  }
};
TCC_ON_EVERY_DEVICE(SizedKernelsTest);

Tensor counted(const std::vector<int64_t>& shape) {
  Tensor x(DType::f32, shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, static_cast<double>(i));
  return x;
}

TEST_P(SizedKernelsTest, APointwiseKernelRunsOnAnySize) {
  const SymInt n = SymInt::symbol("n");
  const auto program = std::make_shared<const Program>(
      device, executable_of(compile(kPointwise), device->target(), {n}, {n}));
  for (const int64_t size : {1, 2, 63, 64, 65, 1000, 100'003}) {
    Context context(program, nullptr, {{"n", size}});
    const Tensor x = counted({size});
    const Tensor y = context.run({&x, 1}).at(0);
    ASSERT_EQ(y.shape(), std::vector<int64_t>{size});
    for (int64_t i = 0; runs_kernels() && i < size; ++i)
      ASSERT_EQ(y.get(i), static_cast<float>(2 * i + 1)) << size << " " << i;
  }
  Context two(program, nullptr, {{"n", 2}});
  const Tensor three = counted({3});
  EXPECT_EQ(two.run({&three, 1}).at(0).shape(), std::vector<int64_t>{3});
  EXPECT_ERROR(Context(program).sizes(), "the size of 'n' is open");
  EXPECT_ERROR(Context(program, nullptr, {{"n", -1}}), "n = -1 is below 0");
}

// As on devices whose grids have at most 65535 workgroups along a dimension.
TEST_P(SizedKernelsTest, MoreWorkgroupsThanARowOfTheGridHasRun) {
  sched::Target narrow = device->target();
  narrow.max_grid[0] = 7;
  const SymInt n = SymInt::symbol("n");
  const exec::StandaloneKernel kernel = compile(kPointwise, narrow);
  const auto program =
      std::make_shared<const Program>(device, executable_of(kernel, device->target(), {n}, {n}));
  for (const int64_t size : {1, 64, 448, 449, 512, 1000, 100'003}) {
    Context context(program, nullptr, {{"n", size}});
    const Tensor x = counted({size});
    const Tensor y = context.run({&x, 1}).at(0);
    for (int64_t i = 0; runs_kernels() && i < size; ++i)
      ASSERT_EQ(y.get(i), static_cast<float>(2 * i + 1)) << size << " " << i;
  }
}

TEST_P(SizedKernelsTest, AReductionRunsOnAnySize) {
  const SymInt n = SymInt::symbol("n"), r = SymInt::symbol("r");
  const auto program = std::make_shared<const Program>(
      device, executable_of(compile(kReduction), device->target(), {r, n}, {r}));
  const std::vector<std::pair<int64_t, int64_t>> cases = {{1, 1}, {3, 7}, {33, 64}, {100, 1001}};
  for (const auto& [rows, columns] : cases) {
    Context context(program, nullptr, {{"n", columns}, {"r", rows}});
    const Tensor x = counted({rows, columns});
    const Tensor y = context.run({&x, 1}).at(0);
    for (int64_t i = 0; runs_kernels() && i < rows; ++i) {
      float sum = 0;
      for (int64_t c = 0; c < columns; ++c) sum += static_cast<float>(x.get(i * columns + c));
      ASSERT_EQ(y.get(i), sum) << rows << " " << columns << " " << i;
    }
  }
  // A device that stops long loops is asked before, not after.
  const int64_t most = device->target().max_loop_iterations;
  if (most == 0) return;
  EXPECT_ERROR_KIND(Context(program, nullptr, {{"n", most + 1}, {"r", 1}}), ErrorKind::device,
                    "loop iterations");
}

// The ends of vectors' lines are loops over what a division leaves.
TEST_P(SizedKernelsTest, WideIndicesAreDivided) {
  const SymInt n = SymInt::symbol("n");
  const auto program = std::make_shared<const Program>(
      device, executable_of(compile(kDivisions), device->target(), {n + 8}, {n}));
  constexpr int64_t size = 1'000'003;
  Context context(program, nullptr, {{"n", size}});
  const Tensor x = counted({size + 8});
  const Tensor y = context.run({&x, 1}).at(0);
  for (int64_t i = 0; runs_kernels() && i < size; ++i)
    ASSERT_EQ(y.get(i), static_cast<double>(i * 40000 / 40009 + i * 70001 % 7)) << i;
}

TEST_P(SizedKernelsTest, LoopsEndWhereTheirExpressionsSay) {
  const SymInt n = SymInt::symbol("n");
  const auto program = std::make_shared<const Program>(
      device, executable_of(compile(kLoops), device->target(), {n}, {160}));
  for (const int64_t size : {1, 2, 7, 8, 9, 17, 63, 64, 129}) {
    Context context(program, nullptr, {{"n", size}});
    const Tensor x = counted({size});
    const Tensor y = context.run({&x, 1}).at(0);
    const int64_t counts[] = {size % 8, size % 8 + 1, (size + 7) / 8, std::min<int64_t>(size, 5),
                              size % 6};
    for (int64_t thread = 0; runs_kernels() && thread < 32; ++thread) {
      int64_t count = 0;
      for (int64_t i = 0; i < 5; ++i)
        ASSERT_EQ(y.get(thread * 5 + i), count += counts[i]) << size << " " << i;
    }
  }
}

TEST_P(SizedKernelsTest, AFileRunsOnAnySizeWithoutTheCompiler) {
  const SymInt n = SymInt::symbol("n");
  const backends::TemporaryFolder folder;
  const auto file = folder.path() / "scaled.tccx";
  exec::save_executable(executable_of(compile(kPointwise), device->target(), {n}, {n}), file);
  for (const int64_t size : {1, 100}) {
    const testing::Outcome outcome = testing::run_command(
        str(TCC_BINARY_DIR, "/bin/run_executable ", file.string(), " ", GetParam(), " n=", size));
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    std::istringstream printed(outcome.text);
    for (int64_t i = 0; i < size; ++i) {
      double value = -1;
      ASSERT_TRUE(printed >> value) << i;
      EXPECT_EQ(value, runs_kernels() ? static_cast<double>(2 * i + 1) : value) << i;
    }
  }
}

}  // namespace
}  // namespace tcc::runtime
