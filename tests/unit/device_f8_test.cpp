// The device library's conversions of f8 as host C++, against ir/dtype.h: the code of targets
// without instructions for them.
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "ir/dtype.h"
#include "tests/unit/near_ties.h"

namespace device {
#include "backends/device/common/prelude_cpp.inc"

#include "backends/device/common/convert.inc"
}  // namespace device

namespace tcc {
namespace {

TEST(DeviceF8, WidensEveryCode) {
  for (uint32_t h = 0; h < 256; ++h) {
    const auto same = [](float a, float b) {
      return std::isnan(a) ? std::isnan(b)
                           : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    };
    EXPECT_TRUE(same(device::tcc_f8e4m3_to_f32(h), f8e4m3_to_f32(static_cast<uint8_t>(h)))) << h;
    EXPECT_TRUE(same(device::tcc_f8e5m2_to_f32(h), f8e5m2_to_f32(static_cast<uint8_t>(h)))) << h;
  }
}

bool same_f8e4m3(uint32_t a, uint8_t b) { return (a & 0x7f) == 0x7f ? (b & 0x7f) == 0x7f : a == b; }
bool same_f8e5m2(uint32_t a, uint8_t b) { return (a & 0x7f) > 0x7c ? (b & 0x7f) > 0x7c : a == b; }

void check_rounding_to_f8(double x) {
  const auto f = static_cast<float>(x);
  ASSERT_TRUE(same_f8e4m3(device::tcc_f32_to_f8e4m3(f), f64_to_f8e4m3(f))) << std::hexfloat << f;
  ASSERT_TRUE(same_f8e5m2(device::tcc_f32_to_f8e5m2(f), f64_to_f8e5m2(f))) << std::hexfloat << f;
  ASSERT_TRUE(same_f8e4m3(device::tcc_f64_to_f8e4m3(x), f64_to_f8e4m3(x))) << std::hexfloat << x;
  ASSERT_TRUE(same_f8e5m2(device::tcc_f64_to_f8e5m2(x), f64_to_f8e5m2(x))) << std::hexfloat << x;
  ASSERT_EQ(device::tcc_pack_f8e4m3(f, 1.0f, 2.0f, f),
            device::tcc_f32_to_f8e4m3(f) * 0x01000001u | 0x403800u);
  ASSERT_EQ(device::tcc_pack_f8e5m2(1.0f, f, f, 2.0f),
            device::tcc_f32_to_f8e5m2(f) * 0x00010100u | 0x4000003cu);
}

TEST(DeviceF8, RoundsOnceToNearestEven) {
  for (int h = 0; h < 256; ++h)
    for (const auto& [here, next] : {std::pair{f8e4m3_to_f32(static_cast<uint8_t>(h)),
                                               f8e4m3_to_f32(static_cast<uint8_t>(h + 1))},
                                     std::pair{f8e5m2_to_f32(static_cast<uint8_t>(h)),
                                               f8e5m2_to_f32(static_cast<uint8_t>(h + 1))}}) {
      for (double x : test::near_tie(here, next)) {
        check_rounding_to_f8(x);
        if (HasFatalFailure()) return;
      }
    }
  for (double x : {464.0, std::nextafter(464.0, 500.0), 61440.0, std::nextafter(61440.0, 0.0)})
    for (const double sign : {1.0, -1.0}) {
      check_rounding_to_f8(sign * x);
      if (HasFatalFailure()) return;
    }
  // Every exponent of f32, its subnormal numbers included.
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) {
    check_rounding_to_f8(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tcc
