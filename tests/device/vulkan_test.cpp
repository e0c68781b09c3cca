// Tests what only Vulkan devices do: limits, subgroup sizes, devices that hang.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "support/error.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"

namespace tcc::runtime {
namespace {

class VulkanTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device->target().api != exec::Api::vulkan) GTEST_SKIP() << "not Vulkan";
  }
  std::chrono::duration<double> time_of(const exec::StandaloneKernel& binary) {
    const auto kernel = load_kernel(*device, binary);
    const auto x = device->allocate(kSlowSize * 4);
    const BoundStep launch = kernel.on({x->address()});
    const auto start = std::chrono::steady_clock::now();
    stream->run({&launch, 1});
    stream->synchronize();
    return std::chrono::steady_clock::now() - start;
  }
  std::string load_error(const exec::StandaloneKernel& binary) {
    try {
      device->load(binary);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      return error.what();
    }
    return "";
  }
};
TCC_ON_EVERY_DEVICE(VulkanTest);

TEST_P(VulkanTest, TheTargetIsFilledFromTheDevice) {
  const exec::Target& target = device->target();
  EXPECT_FALSE(target.vendor.empty() || target.device.empty() || target.arch.empty() ||
               target.driver.empty());
  EXPECT_LE(target.subgroup_size_min, target.subgroup_size);
  EXPECT_GE(target.subgroup_size_max, target.subgroup_size);
  EXPECT_GE(target.max_workgroup_size, 128);
  EXPECT_GE(target.shared_bytes, 16 << 10);
  EXPECT_GE(target.push_constant_bytes, 128);
  EXPECT_GE(target.max_grid[0], 65535);
  EXPECT_GE(target.max_buffer_bytes, int64_t{1} << 28);
  EXPECT_GT(target.bandwidth, 0);
  if (target.arch != "llvmpipe") return;
  EXPECT_TRUE(target.is_cpu && target.unified_memory);
  const char* width = std::getenv("LP_NATIVE_VECTOR_WIDTH");
  EXPECT_TRUE(!width || target.subgroup_size == std::atoi(width) / 32) << target.subgroup_size;
  EXPECT_EQ(target.id(), str("vulkan:llvmpipe:sg", target.subgroup_size));
}

TEST_P(VulkanTest, KernelsBeyondTheLimitsAreRefused) {
  const exec::Target& target = device->target();
  const exec::StandaloneKernel good = compile_test_kernel(*device, TestKernel::add, 10);
  EXPECT_EQ(load_error(good), "");
  exec::StandaloneKernel bad = good;
  bad.workgroup = target.max_workgroup_size + 1;
  EXPECT_NE(load_error(bad).find("a workgroup of "), std::string::npos);
  bad = good;
  bad.subgroup_size = target.subgroup_size_max * 2;
  EXPECT_NE(load_error(bad).find("needs subgroups of "), std::string::npos);
  bad = good;
  bad.num_arguments = static_cast<int>(target.push_constant_bytes / 8) + 1;
  EXPECT_NE(load_error(bad).find("bytes of push constants"), std::string::npos);
  if (target.max_grid[1] == UINT32_MAX) return;
  const auto kernel = load_kernel(*device, good);
  BoundStep wide = kernel.on({0, 0, 0});
  std::get<BoundLaunch>(wide).grid[1] = static_cast<uint32_t>(target.max_grid[1]) + 1;
  EXPECT_ERROR_KIND(stream->run({&wide, 1}), ErrorKind::device, "grid size ");
}

TEST_P(VulkanTest, SubgroupSizesOfTheDeviceAreAccepted) {
  const exec::Target& target = device->target();
  for (int size = target.subgroup_size_min; size <= target.subgroup_size_max; size *= 2) {
    exec::StandaloneKernel binary = compile_test_kernel(*device, TestKernel::increment, 1000);
    binary.subgroup_size = size;
    const auto kernel = load_kernel(*device, binary);
    const auto x = upload(std::vector<float>(1000, 0));
    const BoundStep launch = kernel.on({x->address()});
    stream->run({&launch, 1});
    EXPECT_EQ(download(*x), std::vector<float>(1000, 1)) << size;
  }
}

TEST_P(VulkanTest, AnEmptyGridRunsNothing) {
  exec::StandaloneKernel binary = compile_test_kernel(*device, TestKernel::increment, 10);
  binary.grid[1] = 0;
  const auto kernel = load_kernel(*device, binary);
  const auto x = upload(std::vector<float>(10, 3));
  const BoundStep launch = kernel.on({x->address()});
  stream->run({&launch, 1});
  EXPECT_EQ(download(*x), std::vector<float>(10, 3));
}

TEST_P(VulkanTest, AHangingDeviceIsAnErrorAndEndsCleanly) {
  const exec::StandaloneKernel slow = compile_test_kernel(*device, TestKernel::slow, kSlowSize);
  const auto duration = time_of(slow);
  ::setenv("TCC_DEVICE_TIMEOUT", std::to_string(duration.count() / 20).c_str(), 1);
  const auto own =
      device_kind("vulkan").open(std::atoi(GetParam().c_str() + GetParam().find(':') + 1));
  ::unsetenv("TCC_DEVICE_TIMEOUT");
  const auto kernel = load_kernel(*own, slow);
  auto slow_stream = own->create_stream();
  const auto x = own->allocate(kSlowSize * 4);
  const BoundStep launch = kernel.on({x->address()});
  slow_stream->run({&launch, 1});
  EXPECT_ERROR_KIND(slow_stream->synchronize(), ErrorKind::device, "timed out after ");
  EXPECT_ERROR_KIND(slow_stream->run({&launch, 1}), ErrorKind::device, "does not answer");
  EXPECT_ERROR_KIND(own->allocate(16), ErrorKind::device, "does not answer");
  EXPECT_ERROR_KIND(own->create_stream(), ErrorKind::device, "does not answer");
  EXPECT_ERROR_KIND(own->record({&launch, 1}), ErrorKind::device, "does not answer");
  // The work does come to an end, and only then may its memory be given back.
  std::this_thread::sleep_for(3 * duration + std::chrono::seconds(1));
}

// The driver's compilation counts as loading, not as work of the device. Kernels of other sizes are
// other kernels: nothing comes from a cache of the driver.
TEST_P(VulkanTest, TheDriversCompilationHasNoTimeLimit) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const int64_t n = 1000 + now().time_since_epoch().count() % 100'000;
  const auto first = compile_test_kernel(*device, TestKernel::long_text, n),
             second = compile_test_kernel(*device, TestKernel::long_text, n + 1);
  const auto start = now();
  device->load(first);
  const std::chrono::duration<double> compilation = now() - start;
  ::setenv("TCC_DEVICE_TIMEOUT", std::to_string(compilation.count() / 4).c_str(), 1);
  const auto own =
      device_kind("vulkan").open(std::atoi(GetParam().c_str() + GetParam().find(':') + 1));
  ::unsetenv("TCC_DEVICE_TIMEOUT");
  const auto x = own->allocate((n + 1) * 4);
  const auto kernel = load_kernel(*own, second);
  auto own_stream = own->create_stream();
  own_stream->fill(*x, 0, (n + 1) * 4, 0);
  const BoundStep launch = kernel.on({x->address()});
  own_stream->run({&launch, 1});
  own_stream->synchronize();
}

TEST(DeviceTimeoutTest, MustBeANumber) {
  ::setenv("TCC_DEVICE_TIMEOUT", "soon", 1);
  EXPECT_THROW(device_kind("vulkan").open(0), Error);
  ::unsetenv("TCC_DEVICE_TIMEOUT");
}

}  // namespace
}  // namespace tcc::runtime
