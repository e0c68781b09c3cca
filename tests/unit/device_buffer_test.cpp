// Device memory of the public interface. The tests of results need a Vulkan device; the null device
// copies, and serves the others.
#include <cstring>
#include <thread>

#include "tests/expect_error.h"
#include "tests/unit/public_memory.h"

#include "tcc/c_api.h"
#include "tcc/graph.hpp"
#include "tcc/tcc.hpp"

namespace tcc {
namespace {

using testing::DeviceBuffers;
using testing::expect_near;
using testing::floats_of;
using testing::numbers;
using testing::scaled;

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The product of x, f32[3, 5], with itself transposed, summed over rows: two kernels.
Graph product() {
  GraphBuilder builder("product");
  const GraphValue x = builder.input("x", "f32", {3, 5});
  builder.output("y", builder.op("sum", {matmul(x, permute(x, {1, 0}))}, {{"dim", {1}}}));
  return builder.build();
}

class DeviceBufferOnVulkan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  }
};

TEST(DeviceBuffer, CopiesFromAndToTheHost) {
  const DeviceBuffer buffer("null", 12);
  EXPECT_EQ(buffer.device(), "null");
  EXPECT_EQ(buffer.bytes(), 12);
  EXPECT_NE(buffer.address(), 0u);
  buffer.write(bytes_of({1, 2, 3}));
  EXPECT_EQ(floats_of(buffer), (std::vector<float>{1, 2, 3}));
  const DeviceBuffer part = buffer.slice(4, 8);
  EXPECT_EQ(part.address(), buffer.address() + 4);
  part.write(bytes_of({5, 6}));
  EXPECT_EQ(floats_of(buffer), (std::vector<float>{1, 5, 6}));
  EXPECT_EQ(floats_of(part.slice(4, 4)), (std::vector<float>{6}));
}

TEST(DeviceBuffer, RefusesMisuse) {
  const DeviceBuffer buffer("null", 12);
  EXPECT_ERROR(buffer.slice(4, 9), "bytes 4 to 4 + 9 of a device buffer of 12");
  EXPECT_ERROR(buffer.slice(-4, 4), "of a device buffer of 12");
  EXPECT_ERROR(buffer.slice(13, 0), "of a device buffer of 12");
  EXPECT_ERROR(buffer.slice(0, -1), "of a device buffer of 12");
  EXPECT_ERROR(buffer.slice(4, INT64_MAX), "of a device buffer of 12");
  EXPECT_ERROR(buffer.write(bytes_of({1, 2})), "8 bytes for a device buffer of 12");
  std::vector<std::byte> room(16);
  EXPECT_ERROR(buffer.read(room), "room for 16 bytes of a device buffer of 12");
  EXPECT_ERROR(DeviceBuffer("null", -1), "a device buffer of -1 bytes");
  EXPECT_ERROR_KIND(DeviceBuffer("abacus", 4), ErrorKind::no_device, "abacus");
  EXPECT_ERROR_KIND(DeviceBuffer("null", INT64_MAX / 2), ErrorKind::device, "out of memory");
}

TEST(DeviceBuffer, ABufferOfNothing) {
  const DeviceBuffer nothing;
  EXPECT_EQ(nothing.device(), "");
  EXPECT_EQ(nothing.bytes(), 0);
  EXPECT_EQ(nothing.address(), 0u);
  nothing.write({});
  nothing.read({});
  EXPECT_EQ(nothing.slice(0, 0).bytes(), 0);
  EXPECT_EQ(DeviceBuffer("null", 0).address(), 0u);
  Context context(compile(scaled(0, 2), "null"));
  context.run_device(DeviceBuffers{nothing}, DeviceBuffers{nothing});
}

TEST(DeviceBuffer, RunsNameTheTensorThatDoesNotFit) {
  Context context(compile(scaled(3, 2), "null"));
  const DeviceBuffer fits("null", 12), large("null", 16);
  EXPECT_ERROR(context.run_device(DeviceBuffers{large}, DeviceBuffers{fits}),
               "input 'x': a device buffer of 16 bytes; f32[3] takes 12");
  EXPECT_ERROR(context.run_device(DeviceBuffers{fits}, DeviceBuffers{DeviceBuffer()}),
               "output 'y': a device buffer of 0 bytes");
  EXPECT_ERROR(context.run_device(DeviceBuffers{}, DeviceBuffers{fits}), "1 input and 1 output");
  EXPECT_ERROR(context.run_device(DeviceBuffers{large.slice(2, 12)}, DeviceBuffers{fits}),
               "'x': the pointer is not aligned to its elements of 4 bytes");
  EXPECT_ERROR(context.run_device_named({{"z", fits}}, {{"y", fits}}), "'z'");
}

TEST(DeviceBuffer, OutputsShareNoMemory) {
  Context context(compile(scaled(3, 2), "null"));
  const DeviceBuffer both("null", 20);
  EXPECT_ERROR(
      context.run_device(DeviceBuffers{both.slice(0, 12)}, DeviceBuffers{both.slice(8, 12)}),
      "output 'y' shares memory with input 'x'");
  const DeviceBuffer apart("null", 24);
  context.run_device(DeviceBuffers{apart.slice(0, 12)}, DeviceBuffers{apart.slice(12, 12)});

  GraphBuilder builder;
  const GraphValue x = builder.input("x", "f32", {2}), z = builder.input("z", "f32", {2});
  builder.output("sum", x + z);
  builder.output("difference", x - z);
  Context two(compile(builder.build(), "null"));
  const DeviceBuffer in("null", 8), out("null", 8);
  EXPECT_ERROR(two.run_device(DeviceBuffers{in, in}, DeviceBuffers{out, out}),
               "output 'difference' shares memory with output 'sum'");
  two.run_device(DeviceBuffers{in, in}, DeviceBuffers{out, DeviceBuffer("null", 8)});
}

TEST_F(DeviceBufferOnVulkan, BelongsToItsDevice) {
  Context context(compile(scaled(3, 2), "vulkan:0"));
  const DeviceBuffer here("vulkan:0", 12), elsewhere("null", 12);
  EXPECT_ERROR(context.run_device(DeviceBuffers{elsewhere}, DeviceBuffers{here}),
               "input 'x': a buffer of null; the graph was compiled for vulkan:0");
  EXPECT_ERROR(Context(compile(scaled(3, 2), "null"), context),
               "cannot run on a stream of vulkan:0");
  const void* pointer = &context;
  void* other = &context;
  EXPECT_ERROR(context.run_device(std::span(&pointer, 1), std::span(&other, 1)),
               "pass DeviceBuffers");
}

TEST_F(DeviceBufferOnVulkan, TwoProgramsMeetInABuffer) {
  testing::expect_two_programs_meet("vulkan:0", 100003);
}

TEST_F(DeviceBufferOnVulkan, SlicesNeedNoAlignment) {
  const std::vector<float> x = numbers(15);
  const DeviceBuffer memory("vulkan:0", 4 * 32);
  memory.slice(4, 60).write(bytes_of(x));
  Context context(compile(product(), "vulkan:0"));
  context.run_device(DeviceBuffers{memory.slice(4, 60)}, DeviceBuffers{memory.slice(68, 12)});
  const auto expected = run_reference(product(), std::vector{HostTensor::of<float>({3, 5}, x)});
  expect_near(floats_of(memory.slice(68, 12)), expected.at(0).as<float>());
}

TEST_F(DeviceBufferOnVulkan, OutlivesContextsAndIsOutlived) {
  const std::vector<float> x = numbers(1000);
  DeviceBuffer out("vulkan:0", 4000);
  std::vector<float> expected;
  for (const float value : x) expected.push_back(value * 2 + 1);
  {
    Context context(compile(scaled(1000, 2), "vulkan:0"));
    DeviceBuffer in("vulkan:0", 4000);
    in.write(bytes_of(x));
    context.run_device(DeviceBuffers{in}, DeviceBuffers{out});
    in = DeviceBuffer();  // while the run may still read it
  }
  expect_near(floats_of(out), expected);
  Context context(compile(scaled(1000, 2), "vulkan:0"));
  context.run_device(DeviceBuffers{out}, DeviceBuffers{DeviceBuffer("vulkan:0", 4000)});
  out = DeviceBuffer();
  context.synchronize();
}

// Each thread has contexts and buffers of its own, and all read one buffer.
TEST_F(DeviceBufferOnVulkan, ThreadsShareInputs) {
  constexpr std::int64_t size = 4099;
  const std::vector<float> x = numbers(size);
  const CompiledGraph twice = compile(scaled(size, 2), "vulkan:0");
  const CompiledGraph thrice = compile(scaled(size, 3), "vulkan:0");
  const DeviceBuffer in("vulkan:0", size * 4);
  in.write(bytes_of(x));
  std::vector<float> expected;
  for (const float value : x) expected.push_back((value * 2 + 1) * 3 + 1);
  std::vector<std::vector<float>> results(2);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        Context first(twice), second(thrice);
        const DeviceBuffer middle("vulkan:0", size * 4), out("vulkan:0", size * 4);
        first.run_device(DeviceBuffers{in}, DeviceBuffers{middle});
        second.run_device(DeviceBuffers{middle}, DeviceBuffers{out});
        result = floats_of(out);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) expect_near(result, expected);
}

// Two threads pass one buffer to and fro: each waits for the other's stream, and not for ever.
TEST_F(DeviceBufferOnVulkan, ThreadsWaitForEachOther) {
  const CompiledGraph graph = compile(scaled(64, 1), "vulkan:0");
  const DeviceBuffer a("vulkan:0", 256), b("vulkan:0", 256);
  a.write(std::vector<std::byte>(256));
  b.write(std::vector<std::byte>(256));
  std::vector<std::thread> threads;
  for (const bool forward : {true, false})
    threads.emplace_back([&, forward] {
      Context context(graph);
      for (int round = 0; round < 50; ++round)
        context.run_device(DeviceBuffers{forward ? a : b}, DeviceBuffers{forward ? b : a});
    });
  for (std::thread& thread : threads) thread.join();
  const std::vector<float> values = floats_of(a);
  EXPECT_GE(values.at(0), 0);
  EXPECT_LE(values.at(0), 100);
}

TEST(CBuffer, RunsOnDeviceMemory) {
  const char* device = testing::has_vulkan() ? "vulkan:0" : "null";
  const std::string yaml = scaled(3, 2).to_yaml();
  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  tcc_context *context = nullptr, *beside = nullptr;
  tcc_buffer *in = nullptr, *out = nullptr, *part = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(yaml.c_str(), nullptr, &graph), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_compile(graph, device, nullptr, &compiled), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK);
  ASSERT_EQ(tcc_context_create_beside(compiled, context, &beside), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_buffer_create(device, 16, &in), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_buffer_create(device, 12, &out), TCC_OK);
  EXPECT_EQ(tcc_context_run_buffers(context, &in, 1, &out, 1), TCC_BAD_INPUT);
  EXPECT_NE(std::strstr(tcc_last_error(), "input 'x'"), nullptr) << tcc_last_error();
  ASSERT_EQ(tcc_buffer_slice(in, 4, 12, &part), TCC_OK);
  EXPECT_EQ(tcc_buffer_bytes(part), 12);
  EXPECT_EQ(tcc_buffer_address(part), tcc_buffer_address(in) + 4);
  tcc_buffer_destroy(in);  // the slice holds the memory
  float values[] = {1, 2, 3};
  EXPECT_EQ(tcc_buffer_write(part, values, 8), TCC_BAD_INPUT);
  ASSERT_EQ(tcc_buffer_write(part, values, sizeof values), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_run_buffers(context, &part, 1, &out, 1), TCC_OK) << tcc_last_error();
  tcc_context_destroy(context);
  ASSERT_EQ(tcc_context_run_buffers(beside, &part, 1, &out, 1), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_buffer_read(out, values, sizeof values), TCC_OK) << tcc_last_error();
  EXPECT_EQ(values[2], std::strcmp(device, "null") == 0 ? 3 : 7);
  tcc_context_destroy(beside);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
  tcc_buffer_destroy(part);
  tcc_buffer_destroy(out);
}

}  // namespace
}  // namespace tcc
