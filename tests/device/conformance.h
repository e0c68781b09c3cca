// The tests of the conformance suite share a fixture that runs each test on every device present
// (the null device included), and small kernels in each API's language.
//
//   LP_NATIVE_VECTOR_WIDTH=128|256|512  gives lavapipe subgroups of 4, 8, 16: run the suite with
//   each TCC_VULKAN_VALIDATION=1             loads the Vulkan validation layer; a message fails the
//   test
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "tests/device/runnable_kernel.h"

namespace tcc::runtime {

// "null" and what list_devices() has.
std::vector<std::string> devices_present();
// Opened once; closed after the last test.
std::shared_ptr<Device> test_device(const std::string& name);

// ---- kernels

// Kernels on `n` floats per buffer.
enum class TestKernel {
  add,        // (a, b, c): c = a + b
  increment,  // (x): x += 1
  sum20,      // (out, in_0, ..., in_19): out = sum of all in_i; arguments by table on Vulkan
  slow,       // (x): dependent work; about a second where n is kSlowSize
  long_text,  // (x): nothing, behind thousands of statements that take long to compile
};
inline constexpr int64_t kSlowSize = 10'000;
// Compiled for the device. For the null device, a binary without code.
exec::StandaloneKernel compile_test_kernel(const Device& device, TestKernel kernel, int64_t n);

// ---- fixture

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The null device runs nothing: results of kernels are not looked at.
  bool runs_kernels() const { return device->target().api != exec::Api::null; }
  RunnableKernel load(TestKernel kernel, int64_t n) {
    return load_kernel(*device, compile_test_kernel(*device, kernel, n));
  }
  std::unique_ptr<Buffer> upload(const std::vector<float>& values);
  std::vector<float> download(const Buffer& buffer);

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;

 private:
  int64_t messages_before_ = 0;
};

std::string device_test_name(const ::testing::TestParamInfo<std::string>& info);  // "vulkan_0"

#define TCC_ON_EVERY_DEVICE(Fixture)                                                 \
  INSTANTIATE_TEST_SUITE_P(Devices, Fixture, ::testing::ValuesIn(devices_present()), \
                           device_test_name)

}  // namespace tcc::runtime
