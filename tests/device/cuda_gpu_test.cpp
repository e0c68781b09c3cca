// These tests cover what only CUDA devices do: capture by the caller, the caller's streams, memory
// and contexts, faults of kernels, code for other architectures. Skipped without a device; the
// conformance suite covers the rest of runtime/device.h.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>

#include "backends/compile/nvrtc.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/device.h"
#include "support/error.h"
#include "tests/device/runnable_kernel.h"

namespace tcc::runtime {
namespace {

using cuda::CUDA_SUCCESS;

constexpr int kWorkgroup = 256;

#define CU(call) ASSERT_EQ(cuda::driver().call, CUDA_SUCCESS)

struct Caught {
  ErrorKind kind = ErrorKind::internal;
  std::string message = "no error";
  bool says(const std::string& part) const { return message.find(part) != std::string::npos; }
};

Caught caught(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) { return {error.kind(), error.what()}; }
}

// (x): x += 1, for whole workgroups.
const std::string add_one = R"(
extern "C" __global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }
)";

exec::StandaloneKernel binary_of(const std::string& source, const std::string& arch,
                                 uint32_t grid) {
  exec::StandaloneKernel binary;
  binary.entry = "k";
  binary.source = source;
  binary.code = backends::compile_cuda(source, "k", arch);
  binary.workgroup = kWorkgroup;
  binary.grid = {grid, 1, 1};
  binary.num_arguments = 1;
  return binary;
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = device_kind("cuda").list();
    if (list.devices.empty()) GTEST_SKIP() << list.missing.front();
    if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
    device = open_device("cuda:0");
    stream = device->create_stream();
  }

  std::string arch() const { return device->target().arch; }
  RunnableKernel load(const std::string& source, uint32_t grid = kGrid) {
    return load_kernel(*device, binary_of(source, arch(), grid));
  }
  std::unique_ptr<Buffer> zeros(int64_t floats = kFloats) {
    auto buffer = device->allocate(floats * 4);
    stream->fill(*buffer, 0, buffer->bytes(), 0);
    stream->synchronize();
    return buffer;
  }
  void expect_all(const Buffer& buffer, float expected) {
    std::vector<float> values(static_cast<size_t>(buffer.bytes()) / 4);
    stream->copy_to_host(std::as_writable_bytes(std::span(values)), buffer, 0);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], expected) << i;
  }

  static constexpr uint32_t kGrid = 8;
  static constexpr int64_t kFloats = int64_t{kGrid} * kWorkgroup;
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

// Makes the device's primary context current, as CUDA's runtime does for its callers.
class PrimaryContext {
 public:
  PrimaryContext() {
    EXPECT_EQ(cuda::driver().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda::driver().cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
  }
  ~PrimaryContext() {
    cuda::CUcontext popped = nullptr;
    EXPECT_EQ(cuda::driver().cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, context_);  // whoever pushed in between has popped
    EXPECT_EQ(cuda::driver().cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

 private:
  cuda::CUcontext context_ = nullptr;
};

TEST_F(CudaTest, DescribesTheDevice) {
  const exec::Target& target = device->target();
  EXPECT_EQ(target.arch.substr(0, 3), "sm_");
  EXPECT_EQ(target.id(), "cuda:" + target.arch);
  EXPECT_GE(target.shared_bytes, 48 << 10);
  EXPECT_GE(target.compute_units, 1);
  EXPECT_GE(target.registers_per_unit, 32768);
  EXPECT_GE(target.l2_bytes, 1 << 20);
  EXPECT_GT(target.bandwidth, 5e10);
  EXPECT_LT(target.bandwidth, 3e13);
  EXPECT_GT(target.flops_f32, 1e11);
  EXPECT_LT(target.flops_f32, 1e15);
  EXPECT_NE(target.driver.find("CUDA "), std::string::npos) << target.driver;
  EXPECT_GT(device->memory_bytes(), int64_t{1} << 30);
  EXPECT_NE(device_kind("cuda").list().devices[0].description.find(target.device),
            std::string::npos);
  if (target.arch == "sm_90a" && !std::getenv("TCC_MATRIX_UNITS")) {
    EXPECT_EQ(exec::kinds_of(target.matrix_units), (std::vector<std::string>{"wgmma", "mma"}));
  }
  for (size_t i = 0; i < target.clusters.size() && target.max_cluster == 8; ++i) {
    EXPECT_GT(target.clusters[i], 0);
    EXPECT_LE(target.clusters[i] * (2 << i), target.compute_units);
  }
}

TEST_F(CudaTest, NamesAMissingDevice) {
  const Caught error = caught([] { device_kind("cuda").open(4711); });
  EXPECT_EQ(error.kind, ErrorKind::no_device);
  EXPECT_TRUE(error.says("cuda:4711")) << error.message;
}

TEST_F(CudaTest, KnowsRegistersAndSpills) {
  const auto kernel = load(add_one);
  EXPECT_GT(kernel->report().registers, 0);
  EXPECT_EQ(kernel->report().spilled, 0);
}

TEST_F(CudaTest, IsCapturedByTheCaller) {
  const PrimaryContext current;
  const auto kernel = load(add_one);
  const auto x = zeros();
  const BoundStep launch = kernel.on({x->address()});
  const std::vector<BoundStep> three(3, launch);
  const auto recording = device->record(three);

  cuda::CUstream handle = nullptr;
  CU(cuStreamCreate(&handle, cuda::CU_STREAM_NON_BLOCKING));
  const auto wrapped = device->wrap_stream(handle);
  CU(cuStreamBeginCapture_v2(handle, cuda::CU_STREAM_CAPTURE_MODE_GLOBAL));
  wrapped->fill(*x, 0, x->bytes(), 0);
  wrapped->run({&launch, 1});
  wrapped->run(*recording);
  const auto other =
      device->allocate(1 << 20);  // is not captured, nor does it invalidate the capture
  cuda::CUgraph graph = nullptr;
  CU(cuStreamEndCapture(handle, &graph));

  expect_all(*x, 0);  // nothing ran yet
  cuda::CUgraphExec executable = nullptr;
  CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
  CU(cuGraphLaunch(executable, handle));
  wrapped->run({&launch, 1});
  wrapped->run(*recording);
  wrapped->synchronize();
  expect_all(*x, 8);
  CU(cuGraphExecDestroy(executable));
  CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy_v2(handle));
}

// The stream makes a graph of steps that come again: each run has its own addresses, sizes and
// kernels, also where runs before it have not begun.
TEST_F(CudaTest, StepsThatComeAgainHaveTheirOwnArguments) {
  constexpr int kRuns = 40;
  const auto always = zeros(), set = zeros();
  std::vector<float> wanted_set(kFloats, 0.0f);
  const auto one = load(add_one), more = load(R"(
extern "C" __global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 10.0f; }
)");
  std::vector<std::unique_ptr<Buffer>> x, y;
  std::vector<std::vector<float>> expected_x, expected_y;
  for (int i = 0; i < kRuns; ++i) {
    x.push_back(zeros());
    y.push_back(zeros());
    expected_x.emplace_back(kFloats, 0.0f);
    expected_y.emplace_back(kFloats, 0.0f);
  }
  for (int i = 0; i < kRuns; ++i) {
    const auto at = static_cast<size_t>(i);
    // Runs in a row have the same buffers, too; sizes of 0 and a grid without workgroups are steps
    // of another list.
    const size_t to = i % 5 == 4 ? at - 1 : at;
    const int filled = i % 7 == 6 ? 9 : 37, copied = i % 11 == 10 ? 0 : 4 * (3 + i);
    const auto grid = i % 13 == 12 ? 0U : 1U + static_cast<uint32_t>(i) % kGrid;
    const auto launch = [&](const RunnableKernel& kernel, const Buffer& on, uint32_t groups) {
      return BoundLaunch{kernel.loaded.get(), {on.address()}, {groups, 1, 1}};
    };
    const bool is_more = i % 3 == 1;
    std::vector<BoundStep> steps = {BoundFill{set->address(), 4 * filled, 0x40},
                                    launch(one, *set, kGrid),
                                    launch(is_more ? more : one, *x[to], grid),
                                    launch(one, *x[to], kGrid),
                                    BoundCopy{y[to]->address(), x[to]->address() + 8, copied},
                                    launch(one, *y[to], grid)};
    // Most launches are those of the run before, or there would be no graph.
    for (int n = 0; n < 8; ++n) steps.push_back(launch(one, *always, kGrid));
    stream->run(steps);
    if (i == 25) stream->synchronize();

    std::vector<float>&wanted_x = expected_x[to], &wanted_y = expected_y[to];
    std::fill_n(wanted_set.begin(), filled, std::bit_cast<float>(0x40404040));
    for (float& value : wanted_set) value += 1.0f;
    for (uint32_t n = 0; n < grid * kWorkgroup; ++n) wanted_x[n] += is_more ? 10.0f : 1.0f;
    for (float& value : wanted_x) value += 1.0f;
    std::copy_n(wanted_x.begin() + 2, copied / 4, wanted_y.begin());
    for (uint32_t n = 0; n < grid * kWorkgroup; ++n) wanted_y[n] += 1.0f;
  }
  stream->synchronize();
  expect_all(*always, 8 * kRuns);
  const auto check = [&](const Buffer& buffer, const std::vector<float>& wanted) {
    std::vector<float> values(kFloats);
    stream->copy_to_host(std::as_writable_bytes(std::span(values)), buffer, 0);
    EXPECT_EQ(values, wanted);
  };
  check(*set, wanted_set);
  for (size_t i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    check(*x[i], expected_x[i]);
    check(*y[i], expected_y[i]);
  }
}

TEST_F(CudaTest, UsesTheCallersStreamAndMemory) {
  const PrimaryContext current;
  const auto kernel = load(add_one);
  cuda::CUstream handle = nullptr;
  CU(cuStreamCreate(&handle, cuda::CU_STREAM_NON_BLOCKING));
  cuda::CUdeviceptr address = 0;
  CU(cuMemAlloc_v2(&address, kFloats * 4));
  {
    const auto wrapped = device->wrap_stream(handle);
    const auto x = device->wrap(address, kFloats * 4);
    EXPECT_EQ(x->address(), address);
    EXPECT_EQ(x->bytes(), kFloats * 4);
    wrapped->fill(*x, 0, x->bytes(), 0);
    const BoundStep launch = kernel.on({x->address()});
    wrapped->run({&launch, 1});
    CU(cuStreamSynchronize(handle));
    expect_all(*x, 1);
  }
  // Both are still the caller's.
  CU(cuMemsetD8Async(address, 0, kFloats * 4, handle));
  CU(cuStreamSynchronize(handle));
  CU(cuMemFree_v2(address));
  CU(cuStreamDestroy_v2(handle));
}

TEST_F(CudaTest, UsesTheDefaultStream) {
  const auto kernel = load(add_one);
  const auto x = zeros();
  const BoundStep launch = kernel.on({x->address()});
  const auto recording = device->record({&launch, 1});
  const auto wrapped = device->wrap_stream(nullptr);
  wrapped->run({&launch, 1});
  wrapped->run(*recording);
  wrapped->synchronize();
  expect_all(*x, 2);
}

TEST_F(CudaTest, RefusesWhatIsNotItsOwn) {
  std::vector<std::byte> host(16);
  for (const DeviceAddress address :
       {reinterpret_cast<DeviceAddress>(host.data()), DeviceAddress{0}}) {
    const Caught error = caught([&] { device->wrap(address, 16); });
    EXPECT_EQ(error.kind, ErrorKind::bad_input) << error.message;
    EXPECT_TRUE(error.says("is no address of CUDA memory")) << error.message;
  }
  EXPECT_EQ(device->wrap(0, 0)->bytes(), 0);
}

TEST_F(CudaTest, RefusesAStreamOfAnotherContext) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) GTEST_SKIP() << "libcuda.so.1 is not on the linker's path";
  const auto create =
      reinterpret_cast<cuda::CUresult (*)(cuda::CUcontext*, unsigned, cuda::CUdevice)>(
          ::dlsym(library, "cuCtxCreate_v2"));
  const auto destroy =
      reinterpret_cast<cuda::CUresult (*)(cuda::CUcontext)>(::dlsym(library, "cuCtxDestroy_v2"));
  ASSERT_TRUE(create && destroy);
  cuda::CUcontext context = nullptr, now = nullptr;
  ASSERT_EQ(create(&context, 0, 0), CUDA_SUCCESS);  // and makes it current
  cuda::CUstream handle = nullptr;
  CU(cuStreamCreate(&handle, cuda::CU_STREAM_NON_BLOCKING));
  const Caught error = caught([&] { device->wrap_stream(handle); });
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_TRUE(error.says("another context")) << error.message;

  // Work in the device's own context leaves the caller's current.
  const auto kernel = load(add_one);
  const auto x = zeros();
  const BoundStep launch = kernel.on({x->address()});
  stream->run({&launch, 1});
  expect_all(*x, 1);
  CU(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, context);
  ASSERT_EQ(destroy(context), CUDA_SUCCESS);
}

TEST_F(CudaTest, OutOfMemoryIsAnErrorThatPasses) {
  const int64_t bytes = int64_t{1} << 50;
  const Caught error = caught([&] { device->allocate(bytes); });
  EXPECT_EQ(error.kind, ErrorKind::device);
  EXPECT_TRUE(error.says(str("cuda:0: out of memory: asked for ", bytes, " bytes, ")))
      << error.message;
  const Caught full = caught([&] { device->allocate(device->memory_bytes()); });
  EXPECT_TRUE(full.says("out of memory")) << full.message;

  const auto kernel = load(add_one);
  const auto x = zeros();
  const BoundStep launch = kernel.on({x->address()});
  stream->run({&launch, 1});
  expect_all(*x, 1);
}

TEST_F(CudaTest, UsesAllSharedMemory) {
  // Every thread writes floats all over the workgroup's memory and reads what another one wrote.
  const int64_t bytes = device->target().shared_bytes;
  const std::string source = str(R"(
extern "C" __global__ void k(float* x) {
  extern __shared__ float tile[];
  const int n = )",
                                 bytes / 4, R"(;
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = float(i);
  __syncthreads();
  float wrong = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) wrong += tile[n - 1 - i] != float(n - 1 - i);
  x[blockIdx.x * blockDim.x + threadIdx.x] = wrong;
}
)");
  exec::StandaloneKernel binary = binary_of(source, arch(), kGrid);
  binary.shared_bytes = bytes;
  const auto kernel = load_kernel(*device, binary);
  const auto x = zeros();
  stream->fill(*x, 0, x->bytes(), 0xff);
  const BoundStep launch = kernel.on({x->address()});
  const auto recording = device->record({&launch, 1});
  stream->run(*recording);
  expect_all(*x, 0);

  binary.shared_bytes = bytes + 1024;
  const Caught error = caught([&] { device->load(binary); });
  EXPECT_EQ(error.kind, ErrorKind::device);
  EXPECT_TRUE(error.says("bytes of shared memory; the device allows")) << error.message;
}

TEST_F(CudaTest, RefusesALaunchThatCannotWork) {
  exec::StandaloneKernel binary = binary_of(add_one, arch(), 1);
  binary.workgroup = 2048;
  EXPECT_TRUE(
      caught([&] { device->load(binary); }).says("a workgroup of 2048; the device allows 1024"));
  const auto kernel = load(add_one);
  BoundStep tall = kernel.on({0});
  std::get<BoundLaunch>(tall).grid = {1, 1 << 20, 1};
  EXPECT_TRUE(caught([&] { stream->run({&tall, 1}); }).says("in dimension 1; the device allows"));
  binary = binary_of("extern \"C\" __global__ void __launch_bounds__(64) k(float*) {}", arch(), 1);
  EXPECT_TRUE(caught([&] { device->load(binary); }).says("allow 64"));
}

TEST_F(CudaTest, AnEmptyGridLaunchesNothing) {
  const auto kernel = load(add_one, 0);
  const auto x = zeros();
  const BoundStep launch = kernel.on({x->address()});
  stream->run({&launch, 1});
  expect_all(*x, 0);
}

TEST_F(CudaTest, CodeOfAnotherArchitectureIsRefused) {
  if (arch().starts_with("sm_8")) GTEST_SKIP() << "sm_80 code runs here";
  const exec::StandaloneKernel binary = binary_of(add_one, "sm_80", kGrid);
  const Caught error = caught([&] { device->load(binary); });
  EXPECT_EQ(error.kind, ErrorKind::device);
  EXPECT_TRUE(error.says("another GPU architecture than " + arch())) << error.message;
}

TEST_F(CudaTest, DamagedCodeIsRefused) {
  exec::StandaloneKernel binary = binary_of(add_one, arch(), kGrid);
  binary.code.resize(binary.code.size() / 2);
  const Caught truncated = caught([&] { device->load(binary); });
  EXPECT_EQ(truncated.kind, ErrorKind::device);
  EXPECT_TRUE(truncated.says("neither a whole cubin nor PTX")) << truncated.message;

  binary = binary_of(add_one, arch(), kGrid);
  binary.entry = "nonsense";
  const Caught nameless = caught([&] { device->load(binary); });
  EXPECT_TRUE(nameless.says("no entry point nonsense")) << nameless.message;
}

TEST_F(CudaTest, TheDriverTranslatesPtx) {
  const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n";
  const std::string text = head + R"(
.visible .entry k(.param .u64 x) {
  .reg .u64 %a; .reg .u64 %i; .reg .u32 %t; .reg .f32 %v;
  ld.param.u64 %a, [x];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %i, %t, 4;
  add.u64 %a, %a, %i;
  mov.f32 %v, 0f40000000;
  st.global.f32 [%a], %v;
  ret;
})";
  exec::StandaloneKernel binary = binary_of(add_one, arch(), 1);
  binary.code.assign(text.c_str(), text.c_str() + text.size() + 1);
  const auto kernel = load_kernel(*device, binary);
  const auto x = zeros(kWorkgroup);
  const BoundStep launch = kernel.on({x->address()});
  stream->run({&launch, 1});
  expect_all(*x, 2);

  const std::string wrong = head + ".visible .entry k() { nonsense; }";
  binary.code.assign(wrong.c_str(), wrong.c_str() + wrong.size() + 1);
  const Caught error = caught([&] { device->load(binary); });
  EXPECT_EQ(error.kind, ErrorKind::device);
  EXPECT_TRUE(error.says("nonsense")) << error.message;  // the driver's compiler is quoted
}

TEST_F(CudaTest, LargeCopiesAreRightAndFast) {
  // Some pieces and a bit; an odd offset on the device.
  const int64_t bytes = (int64_t{100} << 20) + 12'345, offset = 3;
  std::vector<std::byte> from(static_cast<size_t>(bytes)), to(from.size());
  uint32_t state = 1;
  for (std::byte& value : from)
    value = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  const auto buffer = device->allocate(bytes + offset);
  const auto seconds = [](const std::function<void()>& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double up = 1e9, down = 1e9;
  for (int i = 0; i < 3; ++i) {
    up = std::min(up, seconds([&] { stream->copy_to_device(*buffer, offset, from); }));
    std::fill(to.begin(), to.end(), std::byte{0});
    down = std::min(down, seconds([&] { stream->copy_to_host(to, *buffer, offset); }));
    ASSERT_TRUE(from == to);
  }
  std::printf("upload %.1f GB/s, download %.1f GB/s\n", static_cast<double>(bytes) / up * 1e-9,
              static_cast<double>(bytes) / down * 1e-9);
  EXPECT_GT(static_cast<double>(bytes) / up, 1e9);
  EXPECT_GT(static_cast<double>(bytes) / down, 1e9);
}

TEST_F(CudaTest, TimesAreThoseOfTheDevice) {
  const int64_t floats = int64_t{64} << 20;
  const auto kernel = load(add_one, static_cast<uint32_t>(floats / kWorkgroup));
  const auto small = load(add_one);
  const auto x = zeros(floats);
  const std::vector<BoundStep> launches = {kernel.on({x->address()}), small.on({x->address()}),
                                           kernel.on({x->address()})};
  const auto recording = device->record(launches);
  stream->run(*recording);
  const std::vector<double> each = stream->time_each(launches);
  ASSERT_EQ(each.size(), 3U);
  const double whole = stream->time(*recording, 10);
  std::printf("512 MiB %.1f us, 16 KiB %.1f us, the three together %.1f us\n", each[0] * 1e6,
              each[1] * 1e6, whole * 1e6);
  // Reads and writes 256 MiB: no faster than the memory, and no slower than a tenth of it.
  const double ideal = 2.0 * 4.0 * static_cast<double>(floats) / device->target().bandwidth;
  EXPECT_GT(each[0], ideal * 0.5);
  EXPECT_LT(each[0], ideal * 10);
  EXPECT_GT(each[1], 0);
  EXPECT_LT(each[1], 100e-6);
  const double sum = std::accumulate(each.begin(), each.end(), 0.0);
  EXPECT_GT(whole, sum * 0.5);
  EXPECT_LT(whole, sum * 2);
}

TEST_F(CudaTest, ThreadsHaveStreamsOfTheirOwn) {
  std::vector<std::thread> threads;
  std::vector<std::string> messages(4);
  for (size_t t = 0; t < messages.size(); ++t)
    threads.emplace_back([&, t] {
      messages[t] = caught([&] {
                      const auto kernel = load(add_one);
                      const auto own = device->create_stream();
                      const auto x = device->allocate(kFloats * 4);
                      own->fill(*x, 0, x->bytes(), 0);
                      const std::vector<BoundStep> launches(10, kernel.on({x->address()}));
                      const auto recording = device->record(launches);
                      for (int i = 0; i < 100; ++i) own->run(*recording);
                      std::vector<float> values(kFloats);
                      own->copy_to_host(std::as_writable_bytes(std::span(values)), *x, 0);
                      if (values != std::vector<float>(kFloats, 1000.0f))
                        fail_device("wrong values");
                    }).message;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : messages) EXPECT_EQ(message, "no error");
}

// A fault ends the use of CUDA in its process, so it happens in one of its own.
class CudaFaultDeathTest : public CudaTest {
 protected:
  void SetUp() override {
    // A child that starts anew and runs this test alone; the driver does not survive a mere fork.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    CudaTest::SetUp();
  }
  [[noreturn]] void fault_and_exit() {
    std::vector<std::string> messages;
    {
      const auto kernel = load(add_one);
      const auto x = zeros();
      const BoundStep good = kernel.on({x->address()});
      const auto recording = device->record({&good, 1});
      const BoundStep bad = kernel.on({DeviceAddress{1} << 46});
      stream->run({&bad, 1});
      messages.push_back(caught([&] { stream->synchronize(); }).message);
      messages.push_back(caught([&] { stream->run(*recording); }).message);
      messages.push_back(caught([&] { device->allocate(1024); }).message);
      messages.push_back(caught([&] { expect_all(*x, 0); }).message);
      messages.push_back(caught([&] { device->create_stream(); }).message);
    }
    stream.reset();
    device.reset();
    for (const std::string& message : messages) std::fprintf(stderr, "%s\n", message.c_str());
    std::_Exit(std::count(messages.begin(), messages.end(), messages[0]) == 5 ? 0 : 1);
  }
};

TEST_F(CudaFaultDeathTest, EveryCallAfterAnIllegalAddressSaysSo) {
  EXPECT_EXIT(fault_and_exit(), ::testing::ExitedWithCode(0), "ILLEGAL_ADDRESS|LAUNCH_FAILED");
}

}  // namespace
}  // namespace tcc::runtime
