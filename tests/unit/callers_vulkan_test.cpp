// tcc on a Vulkan device of the caller's.
#include "tests/callers_vulkan.h"

#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "tcc/c_vulkan.h"
#include "tcc/graph.hpp"
#include "tests/expect_error.h"
#include "tests/unit/public_memory.h"

namespace tcc {
namespace {

using testing::CallersVulkan;
using testing::DeviceBuffers;
using testing::scaled;

class CallersVulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
    world = std::make_unique<CallersVulkan>();
  }
  std::unique_ptr<CallersVulkan> world;
};

// s' = s + x, y = 2 s' + 1, of `size` elements, with a value in between that is stored.
Graph sums(std::int64_t size) {
  GraphBuilder builder("sums");
  const GraphValue s = builder.state("s", "f32", {size});
  const GraphValue next = builder.op("assign", {s, s + builder.input("x", "f32", {size})});
  builder.output("y", builder.op("cumsum", {next}, {{"dim", 0}}) * 2 + 1);
  return builder.build();
}

TEST_F(CallersVulkanTest, GraphsRunOnTheCallersDevice) {
  std::atomic<int> locks = 0, unlocks = 0;
  std::string name;
  {
    vulkan::DeviceInfo info = world->info();
    info.lock_queue = [&] { ++locks; };
    info.unlock_queue = [&] { ++unlocks; };
    const vulkan::Device device(info);
    name = device.name();
    const CompiledGraph compiled = compile(scaled(1000, 3), name);
    EXPECT_EQ(compiled.device(), name);
    Context context(compiled);
    HostTensor x = HostTensor::of<float>({1000}, testing::numbers(1000));
    const HostTensor y = context.run({{x}}).at(0);
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_NEAR(y.as<float>()[i], 3 * x.as<float>()[i] + 1, 1e-5) << i;
    const DeviceBuffer ours(name, 64);
    EXPECT_NE(vulkan::range_of(ours.slice(16, 4)).buffer, VkBuffer{VK_NULL_HANDLE});
    EXPECT_EQ(vulkan::range_of(ours.slice(16, 4)).offset, vulkan::range_of(ours).offset + 16);
  }
  EXPECT_GT(locks, 0);
  EXPECT_EQ(locks, unlocks);
  EXPECT_ERROR_KIND(DeviceBuffer(name, 4), ErrorKind::no_device, "no device '" + name + "'");
}

TEST_F(CallersVulkanTest, BuffersAreUsedWhereTheyLie) {
  const vulkan::Device device(world->info());
  const auto memory = world->make_buffer(4096);
  Context context(compile(scaled(100, 2), device.name()));
  int released = 0;
  // Aligned as kernels want it, and at the elements' alignment alone.
  for (const VkDeviceSize offset : {VkDeviceSize{256}, VkDeviceSize{260}}) {
    const auto at = static_cast<std::size_t>(offset) / 4;
    for (std::size_t i = 0; i < 1024; ++i) memory.floats[i] = static_cast<float>(i);
    const auto x = device.wrap(memory.buffer, offset, 400, [&] { ++released; });
    const auto y = device.wrap(memory.buffer, offset + 400, 400, [&] { ++released; });
    context.run_device(DeviceBuffers{x}, DeviceBuffers{y});
    context.synchronize();
    for (std::size_t i = 0; i < 100; ++i)
      ASSERT_EQ(memory.floats[at + 100 + i], 2 * static_cast<float>(at + i) + 1) << i;
    EXPECT_EQ(memory.floats[at + 200], static_cast<float>(at + 200)) << "what lies behind stays";
    std::vector<float> back(100);
    y.read(std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back[7], memory.floats[at + 107]);
    back[7] = -5;
    x.write(std::as_bytes(std::span(back)));
    EXPECT_EQ(memory.floats[at + 7], -5);
    EXPECT_ERROR(context.run_device(DeviceBuffers{x},
                                    DeviceBuffers{device.wrap(memory.buffer, offset + 396, 400)}),
                 "output 'y' shares memory with input 'x'");
  }
  EXPECT_EQ(released, 4);
  EXPECT_ERROR(device.wrap(memory.buffer, 1 << 20, 4), "of a Vulkan buffer of");
  EXPECT_ERROR(device.wrap(memory.buffer, 4, std::uint64_t{1} << 40), "of a Vulkan buffer of");
  EXPECT_ERROR(device.wrap(memory.buffer, ~std::uint64_t{0}, 4), "of a Vulkan buffer");
  EXPECT_ERROR(device.wrap(VK_NULL_HANDLE, 0, 4), "buffer is null");
}

TEST_F(CallersVulkanTest, StatesAndMemoryOfContextsAreTheCallers) {
  const vulkan::Device device(world->info());
  const auto state = world->make_buffer(4000);
  int given = 0, released = 0;
  {
    const CompiledGraph compiled = compile(sums(1000), device.name());
    Context context(compiled, ContextOptions{.allocate = [&](std::int64_t bytes) {
                      ++given;
                      return device.wrap(world->make_buffer(bytes).buffer, 0,
                                         static_cast<VkDeviceSize>(bytes), [&] { ++released; });
                    }});
    EXPECT_GT(given, 0);
    const std::vector<HostTensor> x = {HostTensor::of<float>({1000}, std::vector<float>(1000, 1))};
    context.run(x);
    EXPECT_NEAR(context.run(x).at(0).as<float>()[9], 41, 1e-4);
    context.bind_state("s", device.wrap(state.buffer, 0, 4000));
    EXPECT_NEAR(context.run(x).at(0).as<float>()[9], 21, 1e-4);
    EXPECT_EQ(state.floats[999], 1);
    context.reset_states();
    context.synchronize();
    EXPECT_EQ(state.floats[999], 0);
    EXPECT_ERROR((Context{compiled, ContextOptions{.allocate =
                                                       [&](std::int64_t) {
                                                         return DeviceBuffer(device.name(), 4);
                                                       }}}),
                 "the caller's allocator gave 4 bytes");
    EXPECT_ERROR((Context{compiled, ContextOptions{.allocate =
                                                       [](std::int64_t bytes) {
                                                         return DeviceBuffer("null", bytes);
                                                       }}}),
                 "the caller's allocator gave memory of null");
  }
  EXPECT_EQ(released, given);
}

TEST_F(CallersVulkanTest, RunsWaitForSemaphoresAndSignalThem) {
  const vulkan::Device device(world->info());
  const auto memory = world->make_buffer(8192);
  const VkSemaphore semaphore = world->make_timeline();
  Context context(compile(scaled(1000, 2), device.name()));
  const auto x = device.wrap(memory.buffer, 0, 4000), y = device.wrap(memory.buffer, 4096, 4000);
  context.reserve(DeviceBuffers{x}, DeviceBuffers{y});
  vulkan::wait(context, semaphore, 1);
  context.run_device(DeviceBuffers{x}, DeviceBuffers{y});
  vulkan::signal(context, semaphore, 2);
  EXPECT_FALSE(world->reaches(semaphore, 2, 0.05)) << "it does not wait";
  memory.floats[5] = 10;  // before the run reads it
  world->signal(semaphore, 1);
  ASSERT_TRUE(world->reaches(semaphore, 2, 20));
  EXPECT_EQ(memory.floats[1024 + 5], 21);
  EXPECT_ERROR(vulkan::wait(context, VK_NULL_HANDLE, 1), "semaphore is null");
  Context other(compile(scaled(10, 2), "null"));
  EXPECT_ERROR(vulkan::signal(other, semaphore, 3), "the stream is not of Vulkan");
}

TEST_F(CallersVulkanTest, RunsAreRecordedIntoTheCallersCommands) {
  const vulkan::Device device(world->info());
  const auto memory = world->make_buffer(8192);
  Context context(compile(sums(1000), device.name()));
  const auto x = device.wrap(memory.buffer, 0, 4000), y = device.wrap(memory.buffer, 4096, 4000);
  const VkCommandBuffer commands = world->begin();
  const float two = 2;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &two, sizeof bits);
  world->vk.CmdFillBuffer(commands, memory.buffer, 0, 4000, bits);  // what the run reads
  const vulkan::Recorded recorded =
      vulkan::record(context, commands, DeviceBuffers{x}, DeviceBuffers{y});
  world->vk.CmdFillBuffer(commands, memory.buffer, 0, 4, 0);  // what it has read
  CallersVulkan::check(world->vk.EndCommandBuffer(commands));
  for (int run = 1; run <= 3; ++run) {
    world->run(commands);
    EXPECT_NEAR(memory.floats[1024 + 9], 1 + 2 * 10 * 2 * run, 1e-3) << "the state goes on";
  }
  EXPECT_EQ(context.state("s").as<float>()[3], 6);
  EXPECT_EQ(memory.floats[0], 0);
  EXPECT_ERROR(vulkan::record(context, commands, DeviceBuffers{x}, DeviceBuffers{x}),
               "shares memory");
  EXPECT_ERROR(vulkan::record(context, VK_NULL_HANDLE, DeviceBuffers{x}, DeviceBuffers{y}),
               "command buffer is null");
}

TEST(CallersVulkanFeatures, TheIndispensableOnesAreEnough) {
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  CallersVulkan world(true);
  const vulkan::Device device(world.info());
  Context context(compile(scaled(100, 2), device.name()));
  const HostTensor y =
      context.run({{HostTensor::of<float>({100}, std::vector<float>(100, 3))}}).at(0);
  EXPECT_EQ(y.as<float>()[99], 7);
  vulkan::DeviceInfo old = world.info();
  old.api_version = VK_API_VERSION_1_1;
  EXPECT_ERROR(vulkan::Device{old}, "its instance allows Vulkan 1.1; 1.2 is needed");
  vulkan::DeviceInfo without = world.info();
  without.features = nullptr;
  EXPECT_ERROR(vulkan::Device{without}, "chain of features is null");
  EXPECT_ERROR(vulkan::device_needs(world.instance, world.physical, VK_API_VERSION_1_1), "1.2");
}

TEST(CallersVulkanFeatures, ADeviceWithoutTimelinesIsRefused) {
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  CallersVulkan world(true, true);
  EXPECT_ERROR(vulkan::Device{world.info()},
               "cannot be used as it was made: it lacks timelineSemaphore");
}

TEST_F(CallersVulkanTest, CHasTheSame) {
  tcc_vulkan_needs* needs = nullptr;
  ASSERT_EQ(tcc_vulkan_needs_create(world->instance, world->physical, CallersVulkan::kVersion,
                                    nullptr, &needs),
            TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(tcc_vulkan_needs_num_extensions(needs), world->extensions.size());
  ASSERT_NE(tcc_vulkan_needs_features(needs), nullptr);

  std::vector<const char*> names;
  for (const std::string& name : world->extensions) names.push_back(name.c_str());
  int locks = 0;
  tcc_vulkan_device_info info = TCC_VULKAN_DEVICE_INFO_INIT;
  info.instance = world->instance;
  info.api_version = CallersVulkan::kVersion;
  info.queue_family = world->family;
  info.physical_device = world->physical;
  info.device = world->device;
  info.queue = world->queue;
  info.features = world->features;
  info.num_extensions = names.size();
  info.extensions = names.data();
  info.lock_queue = info.unlock_queue = [](void* user) { ++*static_cast<int*>(user); };
  info.user = &locks;
  tcc_vulkan_device* device = nullptr;
  ASSERT_EQ(tcc_vulkan_device_create(&info, &device), TCC_OK) << tcc_last_error();
  tcc_vulkan_needs_destroy(needs);

  const auto memory = world->make_buffer(8192);
  tcc_buffer *x = nullptr, *y = nullptr;
  ASSERT_EQ(tcc_vulkan_buffer_wrap(device, memory.buffer, 256, 400, nullptr, nullptr, &x), TCC_OK);
  ASSERT_EQ(tcc_vulkan_buffer_wrap(device, memory.buffer, 4096, 400, nullptr, nullptr, &y), TCC_OK);
  EXPECT_EQ(tcc_vulkan_buffer_wrap(device, memory.buffer, 1 << 20, 4, nullptr, nullptr, &y),
            TCC_BAD_INPUT);
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  ASSERT_EQ(tcc_vulkan_buffer_range(x, &buffer, &offset), TCC_OK);
  EXPECT_EQ(buffer, memory.buffer);
  EXPECT_EQ(offset, 256u);

  const std::string text = scaled(100, 2).to_yaml();
  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(text.c_str(), nullptr, &graph), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_compile(graph, tcc_vulkan_device_name(device), nullptr, &compiled), TCC_OK)
      << tcc_last_error();
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_with_stream(
                context, [](void*, void*) {}, nullptr),
            TCC_BAD_INPUT);

  const VkSemaphore semaphore = world->make_timeline();
  memory.floats[64 + 3] = 4;
  EXPECT_EQ(tcc_vulkan_wait(context, semaphore, 0), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_run_buffers(context, &x, 1, &y, 1), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_vulkan_signal(context, semaphore, 1), TCC_OK) << tcc_last_error();
  ASSERT_TRUE(world->reaches(semaphore, 1, 20));
  EXPECT_EQ(memory.floats[1024 + 3], 9);

  tcc_vulkan_recorded* recorded = nullptr;
  const VkCommandBuffer commands = world->begin();
  ASSERT_EQ(tcc_vulkan_record(context, commands, &x, 1, &y, 1, &recorded), TCC_OK)
      << tcc_last_error();
  CallersVulkan::check(world->vk.EndCommandBuffer(commands));
  memory.floats[64 + 3] = 5;
  world->run(commands);
  EXPECT_EQ(memory.floats[1024 + 3], 11);
  EXPECT_GT(locks, 0);

  tcc_vulkan_recorded_destroy(recorded);
  tcc_buffer_destroy(x);
  tcc_buffer_destroy(y);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
  tcc_vulkan_device_destroy(device);
}

}  // namespace
}  // namespace tcc
