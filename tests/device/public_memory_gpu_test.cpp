// Device buffers and functions of the host's on CUDA, through the public interface. The tests of
// their rules are tests/unit/device_buffer_test.cpp and external_test.cpp, on Vulkan.
#include <cstring>
#include <thread>

#include "tests/expect_error.h"
#include "tests/unit/public_memory.h"

#include "tcc/external.hpp"

namespace tcc {
namespace {

using testing::DeviceBuffers;
using testing::expect_near;
using testing::floats_of;
using testing::numbers;
using testing::scaled;

constexpr const char* kDevice = "cuda:0";

class PublicMemoryOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& device : list_devices().devices)
      if (device.id == kDevice) return;
    GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(PublicMemoryOnCuda, TwoProgramsMeetInABuffer) {
  testing::expect_two_programs_meet(kDevice, 1000003);
}

// Memory that is freed while a run may use it, and a slice that kernels do not take as it is.
TEST_F(PublicMemoryOnCuda, BuffersGoInAnyOrder) {
  constexpr std::int64_t size = 100001;
  const std::vector<float> x = numbers(size);
  std::vector<float> expected;
  for (const float value : x) expected.push_back(value * 2 + 1);
  const CompiledGraph twice = compile(scaled(size, 2), kDevice);
  const DeviceBuffer out(kDevice, size * 4);
  for (int round = 0; round < 20; ++round) {
    Context context(twice);
    DeviceBuffer in = DeviceBuffer(kDevice, size * 4 + 4).slice(4, size * 4);
    in.write(std::as_bytes(std::span(x)));
    context.run_device(DeviceBuffers{in}, DeviceBuffers{out});
    in = DeviceBuffer();
  }
  expect_near(floats_of(out), expected);
}

TEST_F(PublicMemoryOnCuda, ThreadsShareInputs) {
  constexpr std::int64_t size = 4099;
  const std::vector<float> x = numbers(size);
  const CompiledGraph twice = compile(scaled(size, 2), kDevice);
  const DeviceBuffer in(kDevice, size * 4);
  in.write(std::as_bytes(std::span(x)));
  std::vector<float> expected;
  for (const float value : x) expected.push_back((value * 2 + 1) * 2 + 1);
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        Context first(twice), second(twice);
        const DeviceBuffer middle(kDevice, size * 4), out(kDevice, size * 4);
        first.run_device(DeviceBuffers{in}, DeviceBuffers{middle});
        second.run_device(DeviceBuffers{middle}, DeviceBuffers{out});
        result = floats_of(out);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) expect_near(result, expected);
}

TEST_F(PublicMemoryOnCuda, ExternalsRunBetweenKernels) {
  register_external({"halve_on_cuda", [](const std::vector<TensorType>& x) { return x; },
                     [](std::span<const HostTensor> x, std::span<HostTensor> y) {
                       for (std::size_t i = 0; i < y[0].as<float>().size(); ++i) {
                         if (x[0].as<float>()[i] > 1e6f) throw std::runtime_error("too much");
                         y[0].as<float>()[i] = x[0].as<float>()[i] / 2;
                       }
                     }});
  GraphBuilder builder;
  const GraphValue x = builder.input("x", "f32", {33, 17});
  const GraphValue w = builder.constant("w", HostTensor::of<float>({17, 5}, numbers(85, 3)));
  const GraphValue half = builder.op("external", {relu(x) + 1}, {{"function", "halve_on_cuda"}});
  builder.output("y", relu(matmul(half, w)));
  const Graph graph = builder.build();
  const CompiledGraph compiled = compile(graph, kDevice);
  std::vector<HostTensor> inputs = {HostTensor::of<float>({33, 17}, numbers(33 * 17))};
  const auto expected = run_reference(graph, inputs);
  Context context(compiled);
  const DeviceBuffer in(kDevice, 33 * 17 * 4), out(kDevice, 33 * 5 * 4);
  in.write(inputs[0].bytes);
  for (int round = 0; round < 3; ++round) {
    const auto results = context.run(inputs);
    expect_near(results.at(0).as<float>(), expected.at(0).as<float>());
    context.run_device(DeviceBuffers{in}, DeviceBuffers{out});
    expect_near(floats_of(out), expected.at(0).as<float>());
  }
  inputs[0].as<float>()[0] = 1e7f;
  EXPECT_ERROR(context.run(inputs), "the host's function 'halve_on_cuda': too much");
}

}  // namespace
}  // namespace tcc
