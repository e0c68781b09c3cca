// Functions on device memory, on CUDA: in stream order, within recordings and captures. The tests
// of their rules are tests/unit/external_test.cpp, on the null device.
#include <algorithm>

#include "runtime/cuda/driver_api.h"
#include "runtime/device.h"
#include "tests/expect_error.h"
#include "tests/unit/public_api_fixture.h"

#include "tcc/external.hpp"

namespace tcc {
namespace {

namespace cuda = runtime::cuda;
using cuda::CUDA_SUCCESS;
using testing::expect_near;
using testing::numbers;
using Devices = std::span<const DeviceOperand>;

#define CU(call) ASSERT_EQ(cuda::driver().call, CUDA_SUCCESS)

constexpr const char* kDevice = "cuda:0";
constexpr std::int64_t kHalf = 1 << 20;

// Exchanges the halves of a vector.
void exchange(Devices x, Devices y, void* stream) {
  const auto half = static_cast<std::uint64_t>(x[0].bytes) / 2;
  const auto copy = [&](std::uint64_t to, std::uint64_t from) {
    const auto result = cuda::driver().cuMemcpyAsync(y[0].address + to, x[0].address + from,
                                                     static_cast<std::size_t>(half),
                                                     static_cast<cuda::CUstream>(stream));
    if (result != CUDA_SUCCESS) throw Error(ErrorKind::device, cuda::driver().describe(result));
  };
  copy(0, half);
  copy(half, 0);
}

class ExternalOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const runtime::DeviceList list = runtime::device_kind("cuda").list();
    if (list.devices.empty()) GTEST_SKIP() << list.missing.front();
    static const bool done = [] {
      for (const bool may_be_captured : {false, true}) {
        ExternalFunction function;
        function.name = may_be_captured ? "exchange_captured" : "exchange";
        function.results = [](const std::vector<TensorType>& operands) { return operands; };
        function.run_on_device = exchange;
        function.may_be_captured = may_be_captured;
        register_external(function);
      }
      return true;
    }();
    ASSERT_TRUE(done);
    const std::vector<float> halves[] = {numbers(kHalf, 1), numbers(kHalf, 2)};
    for (const auto& half : halves) x.insert(x.end(), half.begin(), half.end());
    for (const int half : {1, 0})
      for (const float value : halves[half]) expected.push_back(((value * 2) + 1) * 3);
  }

  // Kernels before and behind the call: no order but the stream's makes its operands.
  static CompiledGraph compiled(const char* function) {
    GraphBuilder builder("exchange");
    const GraphValue given = builder.input("x", "f32", {2 * kHalf});
    const GraphValue made = builder.op("external", {given * 2}, {{"function", function}});
    builder.output("y", (made + 1) * 3);
    return compile(builder.build(), kDevice);
  }

  static std::vector<float> floats_of(const DeviceBuffer& buffer) {
    std::vector<float> values(static_cast<std::size_t>(buffer.bytes()) / sizeof(float));
    buffer.read(std::as_writable_bytes(std::span(values)));
    return values;
  }

  std::vector<float> x, expected;
};

TEST_F(ExternalOnCuda, RunInTheOrderOfTheStream) {
  const CompiledGraph graph = compiled("exchange");
  Context context(graph);
  const std::vector inputs = {HostTensor::of<float>({2 * kHalf}, x)};
  const DeviceBuffer in(kDevice, 8 * kHalf), out(kDevice, 8 * kHalf);
  in.write(std::as_bytes(std::span(x)));
  for (int round = 0; round < 3; ++round) {
    const auto y = context.run(inputs);
    expect_near(y.at(0).as<float>(), expected);
    out.write(std::vector<std::byte>(8 * kHalf));
    for (int again = 0; again < 10; ++again) context.run_device(std::vector{in}, std::vector{out});
    expect_near(floats_of(out), expected);
  }
  EXPECT_GT(context.time(3), 0);
}

// A caller that captures its stream: the function's work is part of the graph, if it says so.
TEST_F(ExternalOnCuda, MayBeCaptured) {
  const CompiledGraph graph = compiled("exchange_captured"), refused = compiled("exchange");
  const DeviceBuffer in(kDevice, 8 * kHalf), out(kDevice, 8 * kHalf);
  in.write(std::as_bytes(std::span(x)));
  cuda::CUcontext primary = nullptr, popped = nullptr;
  cuda::CUstream stream = nullptr;
  CU(cuDevicePrimaryCtxRetain(&primary, 0));
  CU(cuCtxPushCurrent_v2(primary));
  CU(cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING));
  cuda::CUgraph captured = nullptr;
  cuda::CUgraphExec executable = nullptr;
  {
    Context context(graph, stream), other(refused, stream);
    CU(cuStreamBeginCapture_v2(stream, cuda::CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_ERROR(other.run_device(std::vector{in}, std::vector{out}),
                 "calls the host's function 'exchange', which a captured stream cannot");
    context.run_device(std::vector{in}, std::vector{out});
    CU(cuStreamEndCapture(stream, &captured));
    CU(cuGraphInstantiateWithFlags(&executable, captured, 0));
    for (int replay = 0; replay < 3; ++replay) {
      out.write(std::vector<std::byte>(8 * kHalf));
      CU(cuGraphLaunch(executable, stream));
      context.synchronize();
      expect_near(floats_of(out), expected);
    }
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(captured));
  }
  CU(cuStreamDestroy_v2(stream));
  CU(cuCtxPopCurrent_v2(&popped));
  CU(cuDevicePrimaryCtxRelease_v2(0));
}

// Both contexts use the cache on streams of their own.
TEST_F(ExternalOnCuda, BoundStatesAreInOrder) {
  GraphBuilder builder("grow");
  const GraphValue s = builder.state("s", "f32", {2 * kHalf});
  const GraphValue given = builder.input("x", "f32", {2 * kHalf});
  builder.output("y", builder.op("assign", {s, s + given}) * 1);
  const CompiledGraph graph = compile(builder.build(), kDevice);
  const DeviceBuffer in(kDevice, 8 * kHalf), out(kDevice, 8 * kHalf), state(kDevice, 8 * kHalf);
  const std::vector<float> ones(2 * kHalf, 1);
  in.write(std::as_bytes(std::span(ones)));
  Context first(graph), second(graph);
  first.bind_state("s", state);
  second.bind_state("s", state);
  first.reset_states();
  for (int round = 0; round < 20; ++round) {
    first.run_device(std::vector{in}, std::vector{out});
    second.run_device(std::vector{in}, std::vector{out});
  }
  EXPECT_EQ(floats_of(state), std::vector<float>(2 * kHalf, 40));
  EXPECT_EQ(floats_of(out), std::vector<float>(2 * kHalf, 40));
}

}  // namespace
}  // namespace tcc
