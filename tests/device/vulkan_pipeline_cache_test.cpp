// Pipelines that a Vulkan driver compiled are kept between processes; what is kept is checked.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/vulkan/core.h"
#include "runtime/vulkan/kernel.h"
#include "support/cache_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

namespace fs = std::filesystem;

// An environment variable's value for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class VulkanPipelineCacheTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device->target().api != exec::Api::vulkan) GTEST_SKIP() << "not Vulkan";
  }
  void TearDown() override {
    fs::remove_all(folder);
    DeviceTest::TearDown();
  }
  // Opens the device anew, compiles a kernel, and closes it.
  void run() {
    const auto core = std::make_shared<vulkan::Core>(
        std::stoi(device->name().substr(device->name().find(':') + 1)));
    const exec::StandaloneKernel binary = compile_test_kernel(*device, TestKernel::increment, 10);
    const vulkan::VulkanKernel kernel(core, binary);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "pipelines", none))
      found.push_back(entry.path());
    return found;
  }
  static inline int count = 0;  // a folder for each test: one warning each is said
  const fs::path folder =
      fs::path(testing::TempDir()) / str("tcc_pipelines_", ::getpid(), "_", ++count);
  const Variable cache{"TCC_CACHE_DIR", folder.string()};
};
TCC_ON_EVERY_DEVICE(VulkanPipelineCacheTest);

TEST_P(VulkanPipelineCacheTest, IsAFileOfTheDriver) {
  run();
  if (files().empty()) GTEST_SKIP() << "the driver gives no data";
  const std::string kept = read_file(files()[0]);
  testing::internal::CaptureStderr();
  run();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(files().size(), 1u);
  EXPECT_GE(read_file(files()[0]).size(), kept.size());
}

TEST_P(VulkanPipelineCacheTest, ADamagedFileIsLeftAsideAndReplaced) {
  run();
  if (files().empty()) GTEST_SKIP() << "the driver gives no data";
  const std::string kept = read_file(files()[0]);
  for (std::string damaged : {kept.substr(0, kept.size() - 1), kept.substr(0, 20), std::string(),
                              kept.substr(0, kept.size() - 1) + '\x7f', kept + "x"}) {
    write_file_atomic(files()[0], damaged);
    testing::internal::CaptureStderr();
    run();
    EXPECT_NE(testing::internal::GetCapturedStderr().find("pipelines are compiled again"),
              std::string::npos);
    EXPECT_EQ(read_file(files()[0]).size(), kept.size());
  }
}

TEST_P(VulkanPipelineCacheTest, MayBeSwitchedOff) {
  const Variable off("TCC_PIPELINE_CACHE", "0");
  run();
  EXPECT_TRUE(files().empty());
}

TEST_P(VulkanPipelineCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  run();
  if (files().empty()) GTEST_SKIP() << "the driver gives no data";
  fs::remove_all(folder);
  write_file_atomic(folder, "a file, no folder");
  testing::internal::CaptureStderr();
  run();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("is not kept for the next process (TCC_CACHE_DIR names another folder)"),
            std::string::npos)
      << said;
  testing::internal::CaptureStderr();
  run();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "it is said once";
}

TEST(VulkanPipelineData, IsOfOneDeviceAndDriver) {
  VkPhysicalDeviceProperties device{};
  device.vendorID = 0x10de;
  device.deviceID = 7;
  std::memset(device.pipelineCacheUUID, 5, VK_UUID_SIZE);
  VkPipelineCacheHeaderVersionOne header{};
  header.headerSize = sizeof header;
  header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  header.vendorID = device.vendorID;
  header.deviceID = device.deviceID;
  std::memcpy(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE);
  const auto is = [&](const VkPipelineCacheHeaderVersionOne& its, size_t size) {
    std::vector<uint8_t> bytes(sizeof its + 100);
    std::memcpy(bytes.data(), &its, sizeof its);
    bytes.resize(size);
    return vulkan::is_pipeline_data_of(bytes, device);
  };
  EXPECT_TRUE(is(header, sizeof header));
  EXPECT_TRUE(is(header, sizeof header + 100));
  EXPECT_FALSE(is(header, sizeof header - 1));
  EXPECT_FALSE(is(header, 0));
  for (const auto change : {0, 1, 2, 3, 4}) {
    VkPipelineCacheHeaderVersionOne other = header;
    if (change == 0) other.headerSize = 4096;
    if (change == 1) other.headerVersion = static_cast<VkPipelineCacheHeaderVersion>(2);
    if (change == 2) ++other.vendorID;
    if (change == 3) ++other.deviceID;
    if (change == 4) ++other.pipelineCacheUUID[VK_UUID_SIZE - 1];
    EXPECT_FALSE(is(other, sizeof other + 100)) << change;
  }
}

}  // namespace
}  // namespace tcc::runtime
