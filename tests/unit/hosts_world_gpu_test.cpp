// CUDA in the caller's world: stream, events, memory; memory that CUDA and Vulkan share; DLPack.
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/dlpack_abi.h"
#include "runtime/cuda/driver_api.h"

#include "tcc/c_api.h"
#include "tcc/graph.hpp"
#include "tests/expect_error.h"
#include "tests/unit/public_memory.h"

namespace tcc {
namespace {

using runtime::cuda::driver;
using testing::DeviceBuffers;
using testing::floats_of;
using testing::scaled;

bool has(const char* kind) {
  for (const DeviceInfo& device : list_devices().devices)
    if (device.kind == kind && !device.is_cpu) return true;
  return false;
}

class HostsWorldGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has("cuda")) GTEST_SKIP() << "no CUDA device";
  }
};

// s' = s + x, y = 2 cumsum(s') + 1.
Graph sums(std::int64_t size) {
  GraphBuilder builder("sums");
  const GraphValue s = builder.state("s", "f32", {size});
  const GraphValue next = builder.op("assign", {s, s + builder.input("x", "f32", {size})});
  builder.output("y", builder.op("cumsum", {next}, {{"dim", 0}}) * 2 + 1);
  return builder.build();
}

TEST_F(HostsWorldGpuTest, VulkanAndCudaShareMemory) {
  if (!has("vulkan")) GTEST_SKIP() << "no Vulkan GPU";
  constexpr std::int64_t size = 1000003;
  std::pair<DeviceBuffer, DeviceBuffer> first, second;
  try {
    first = DeviceBuffer::shared("vulkan:0", "cuda:0", size * 4);
    second = DeviceBuffer::shared("vulkan:0", "cuda:0", size * 4);
  } catch (const Error& error) { GTEST_FAIL() << error.what(); }
  EXPECT_EQ(first.first.device(), "vulkan:0");
  EXPECT_EQ(first.second.device(), "cuda:0");
  const std::vector<float> x = testing::numbers(size);
  const DeviceBuffer given("vulkan:0", size * 4), result("vulkan:0", size * 4);
  given.write(std::as_bytes(std::span(x)));
  Context a(compile(scaled(size, 2), "vulkan:0")), b(compile(scaled(size, 3), "cuda:0")),
      c(compile(scaled(size, 0.5), "vulkan:0"));
  for (int round = 0; round < 20; ++round) {  // no wait of the host's but those of the buffers
    a.run_device(DeviceBuffers{given}, DeviceBuffers{first.first});
    b.run_device(DeviceBuffers{first.second}, DeviceBuffers{second.second});
    c.run_device(DeviceBuffers{second.first}, DeviceBuffers{result});
    if (round % 5 != 0) continue;
    const std::vector<float> got = floats_of(result), between = floats_of(second.second);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(between[i], 3 * (2 * x[i] + 1) + 1, 1e-4) << i;
      ASSERT_NEAR(got[i], 0.5f * (3 * (2 * x[i] + 1) + 1) + 1, 1e-4) << i;
    }
    first.second.write(std::vector<std::byte>(size * 4));
    EXPECT_EQ(floats_of(first.first)[size - 1], 0) << "CUDA wrote it, Vulkan reads it";
  }
  // Either handle may go first.
  first.first = DeviceBuffer();
  b.run_device(DeviceBuffers{first.second}, DeviceBuffers{second.second});
  second.second = DeviceBuffer();
  EXPECT_NEAR(floats_of(second.first)[5], 3 * (2 * x[5] + 1) + 1, 1e-4);
  EXPECT_ERROR(DeviceBuffer::shared("cuda:0", "vulkan:0", 64), "cannot share its memory");
  EXPECT_ERROR(DeviceBuffer::shared("vulkan:0", "null", 64), "are not known to be one GPU");
  EXPECT_ERROR(DeviceBuffer::shared("vulkan:0", "cuda:0", 0), "of 0 bytes");
}

TEST_F(HostsWorldGpuTest, TheCallersEventsOrderRuns) {
  constexpr std::int64_t size = 1 << 20;
  Context context(compile(scaled(size, 2), "cuda:0"));
  const DeviceBuffer x("cuda:0", size * 4), y("cuda:0", size * 4);
  x.write(std::vector<std::byte>(size * 4));
  runtime::cuda::CUevent done = nullptr;
  context.run_device(DeviceBuffers{x}, DeviceBuffers{y});
  context.with_stream([&](void* stream) {
    ASSERT_EQ(driver().cuEventCreate(&done, runtime::cuda::CU_EVENT_DISABLE_TIMING), 0);
    ASSERT_EQ(driver().cuEventRecord(done, static_cast<runtime::cuda::CUstream>(stream)), 0);
    ASSERT_EQ(driver().cuEventSynchronize(done), 0);
    float last = 0;  // without tcc's wait
    ASSERT_EQ(driver().cuMemcpyDtoHAsync_v2(&last, y.address() + (size - 1) * 4, 4,
                                            static_cast<runtime::cuda::CUstream>(stream)),
              0);
    ASSERT_EQ(driver().cuStreamSynchronize(static_cast<runtime::cuda::CUstream>(stream)), 0);
    EXPECT_EQ(last, 1);
    driver().cuEventDestroy_v2(done);
  });
}

TEST_F(HostsWorldGpuTest, ContextsTakeTheCallersMemory) {
  const DeviceBuffer holds_the_device("cuda:0", 4);
  int given = 0, released = 0;
  {
    const CompiledGraph compiled = compile(sums(1000), "cuda:0");
    Context context(compiled, ContextOptions{.allocate = [&](std::int64_t bytes) {
                      auto* pool = new DeviceBuffer("cuda:0", bytes);  // for memory of a pool
                      ++given;
                      return DeviceBuffer::wrap("cuda:0", pool->address(), bytes,
                                                [&released, pool] {
                                                  ++released;
                                                  delete pool;
                                                });
                    }});
    const std::vector<HostTensor> x = {HostTensor::of<float>({1000}, std::vector<float>(1000, 1))};
    context.run(x);
    EXPECT_NEAR(context.run(x).at(0).as<float>()[9], 41, 1e-4);
    EXPECT_GT(given, 0);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, given);
}

TEST_F(HostsWorldGpuTest, DlpackKeepsTheAddress) {
  const DeviceTensor tensor("cuda:0", HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  DLManagedTensorVersioned* managed = tensor.to_dlpack();
  EXPECT_EQ(managed->dl_tensor.device.device_type, dlpack::cuda);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(managed->dl_tensor.data), tensor.memory().address());
  const DeviceTensor back = DeviceTensor::from_dlpack(managed);
  EXPECT_EQ(back.device(), "cuda:0");
  EXPECT_EQ(back.to_host().as<float>()[5], 6);
  Context context(compile(scaled(6, 2), "cuda:0"));
  const DeviceTensor flat(back.memory(), 0, "f32", {6}), y("cuda:0", "f32", {6});
  context.run_device(std::vector{flat}, std::vector{y});
  EXPECT_EQ(y.to_host().as<float>()[5], 13);
  EXPECT_ERROR(context.run_device(std::vector{flat},
                                  std::vector{DeviceTensor(tensor.memory(), 0, "f32", {6})}),
               "output 'y' shares memory with input 'x'");
}

TEST_F(HostsWorldGpuTest, TheDecodingExampleOnTheGpu) {
  const auto model = testing::source_dir() / "examples/decode.yaml";
  const Graph graph = Graph::load(model);
  std::vector<std::vector<std::int64_t>> all;
  for (const char* device : {"cuda:0", "vulkan:0"}) {
    if (std::string(device) == "vulkan:0" && !has("vulkan")) continue;
    Context context(compile(graph, device));
    std::vector<std::int64_t> said = {72};
    for (int step = 0; step < 40; ++step)
      said.push_back(context.run({{HostTensor::of<std::int64_t>({1}, {said.back()})}})
                         .at(0)
                         .as<std::int64_t>()[0]);
    all.push_back(said);
  }
  for (const auto& said : all) EXPECT_EQ(said, all[0]);
}

}  // namespace
}  // namespace tcc
