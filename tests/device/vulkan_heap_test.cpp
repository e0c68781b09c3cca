// Buffers of a Vulkan device share allocations: drivers allow as few as 4,096.
#include <algorithm>

#include "runtime/vulkan/core.h"
#include "runtime/vulkan/memory.h"
#include "support/error.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

using vulkan::Core;
using vulkan::Memory;
using vulkan::MemoryUse;

class VulkanHeapTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device->target().api != exec::Api::vulkan) GTEST_SKIP() << "not Vulkan";
    core = std::make_shared<Core>(std::stoi(device->name().substr(device->name().find(':') + 1)));
  }
  std::unique_ptr<Memory> memory(int64_t bytes, MemoryUse use = MemoryUse::device) {
    return std::make_unique<Memory>(core, use, bytes);
  }
  std::shared_ptr<Core> core;
};
TCC_ON_EVERY_DEVICE(VulkanHeapTest);

TEST_P(VulkanHeapTest, ThousandsOfBuffersAreAFewAllocations) {
  std::vector<std::unique_ptr<Memory>> all;
  for (int i = 0; i < 6000; ++i) all.push_back(memory(i * 7 % 9000));
  EXPECT_LT(core->heap().allocations(), 12u);
  EXPECT_GE(core->heap().taken_bytes(), 6000 * int64_t{4000});
  std::vector<std::pair<DeviceAddress, int64_t>> ranges;
  for (const auto& one : all) {
    EXPECT_EQ(one->address() % 256, 0u);
    ranges.emplace_back(one->address(), one->bytes());
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    ASSERT_LE(ranges[i - 1].first + static_cast<DeviceAddress>(ranges[i - 1].second),
              ranges[i].first);
  all.clear();
  EXPECT_EQ(core->heap().taken_bytes(), 0);
  EXPECT_LE(core->heap().allocations(), 1u);
}

TEST_P(VulkanHeapTest, LargeBuffersHaveAnAllocationOfTheirSize) {
  const uint32_t before = core->heap().allocations();
  auto large = memory(int64_t{64} << 20);
  EXPECT_EQ(core->heap().allocations(), before + 1);
  EXPECT_EQ(large->offset(), 0);
  large.reset();
  EXPECT_EQ(core->heap().allocations(), before);
}

TEST_P(VulkanHeapTest, EachUseHasBlocksOfItsOwn) {
  const auto a = memory(100), b = memory(100, MemoryUse::staging);
  EXPECT_NE(a->handle(), b->handle());
  ASSERT_TRUE(b->mapped());
  EXPECT_EQ(memory(100)->handle(), a->handle());
}

TEST_P(VulkanHeapTest, AnAddressIsOfOnePlace) {
  const auto a = memory(1000), b = memory(1000);
  const auto at = core->heap().range_of(b->address() + 24, 900);
  EXPECT_EQ(at.buffer, b->handle());
  EXPECT_EQ(at.offset, static_cast<VkDeviceSize>(b->offset() + 24));
  EXPECT_THROW(core->heap().range_of(b->address() + 24, 1001), InternalError);
  EXPECT_THROW(core->heap().range_of(a->address(), 1025), InternalError);
  EXPECT_THROW(core->heap().range_of(1, 1), InternalError);
}

TEST_P(VulkanHeapTest, NeighboursKeepTheirBytes) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 40; ++i) {
    buffers.push_back(device->allocate(1 + i * 13));
    stream->fill(*buffers.back(), 0, buffers.back()->bytes(), static_cast<uint8_t>(i));
  }
  for (size_t i = 0; i < buffers.size(); i += 3) buffers[i].reset();
  for (size_t i = 0; i < buffers.size(); i += 3) {
    buffers[i] = device->allocate(1 + static_cast<int64_t>(i) * 13);
    stream->fill(*buffers[i], 0, buffers[i]->bytes(), static_cast<uint8_t>(i));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<std::byte> bytes(static_cast<size_t>(buffers[i]->bytes()));
    stream->copy_to_host(bytes, *buffers[i], 0);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(i)),
              buffers[i]->bytes())
        << i;
  }
}

}  // namespace
}  // namespace tcc::runtime
