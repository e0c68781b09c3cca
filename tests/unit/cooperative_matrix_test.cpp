// The cooperative matrices that a Vulkan driver lists, as matrix units.
#include "runtime/vulkan/cooperative_matrix.h"

#include <gtest/gtest.h>

namespace tcc::runtime::vulkan {
namespace {

constexpr uint32_t kF16 = 0, kF32 = 1, kI32 = 5, kU8 = 7, kBf16 = 1000141000;
constexpr uint32_t kDevice = 1, kWorkgroup = 2, kSubgroup = 3;

CooperativeMatrixProperties properties(uint32_t a, uint32_t c, uint32_t scope = kSubgroup) {
  CooperativeMatrixProperties all;
  all.MSize = 16;
  all.NSize = 8;
  all.KSize = 32;
  all.AType = all.BType = a;
  all.CType = all.ResultType = c;
  all.scope = scope;
  return all;
}

const std::set<DType> kAll = {DType::f16, DType::bf16, DType::f32, DType::u8, DType::i32};

// A driver with a list of its own.
std::vector<CooperativeMatrixProperties> listed;
VkResult answer = VK_SUCCESS;
VkResult VKAPI_PTR get(VkPhysicalDevice, uint32_t* count, CooperativeMatrixProperties* list) {
  if (list) std::copy_n(listed.begin(), std::min<size_t>(*count, listed.size()), list);
  *count = static_cast<uint32_t>(listed.size());
  return answer;
}

TEST(CooperativeMatrix, PropertiesBecomeUnits) {
  const auto text = [](const CooperativeMatrixProperties& all) {
    const auto unit = matrix_unit_of(all);
    return unit ? exec::to_string(*unit) : "";
  };
  EXPECT_EQ(text(properties(kF16, kF32)), "coopmat 16x8x32 f16 f16 f32 f32");
  EXPECT_EQ(text(properties(kBf16, kF32, kWorkgroup)),
            "coopmat 16x8x32 bf16 bf16 f32 f32 workgroup");
  CooperativeMatrixProperties bytes = properties(kU8, kI32);
  bytes.saturatingAccumulation = VK_TRUE;
  EXPECT_EQ(text(bytes), "coopmat 16x8x32 u8 u8 i32 i32 saturating");
  EXPECT_EQ(text(properties(11, kF32)), "") << "an unknown type";
  EXPECT_EQ(text(properties(kF16, kF32, kDevice)), "");
  CooperativeMatrixProperties flat = properties(kF16, kF32);
  flat.KSize = 0;
  EXPECT_EQ(text(flat), "");
  flat.KSize = 1u << 31;
  EXPECT_EQ(text(flat), "");
}

TEST(CooperativeMatrix, ListsAreAskedFor) {
  listed = {properties(kF16, kF32), properties(kF16, kF32), properties(99, kF32),
            properties(kU8, kI32)};
  const auto units = query_matrix_units(VK_NULL_HANDLE, get, kAll, 256);
  ASSERT_EQ(units.size(), 2u) << "each once, and none that is not known";
  EXPECT_EQ(units[0].a, DType::f16);
  EXPECT_EQ(units[0].exact_sum, 256);
  EXPECT_EQ(units[1].a, DType::u8);
  EXPECT_EQ(units[1].exact_sum, 0) << "sums of integers are exact";
  EXPECT_TRUE(query_matrix_units(VK_NULL_HANDLE, nullptr, kAll, 0).empty());
  answer = VK_ERROR_OUT_OF_HOST_MEMORY;
  EXPECT_TRUE(query_matrix_units(VK_NULL_HANDLE, get, kAll, 0).empty());
  answer = VK_SUCCESS;
}

// A unit counts where the device is created with all of its types.
TEST(CooperativeMatrix, TypesMustBeEnabled) {
  listed = {properties(kF16, kF32), properties(kBf16, kF32), properties(kU8, kI32)};
  const auto found = [](const std::set<DType>& types) {
    std::vector<DType> operands;
    for (const auto& unit : query_matrix_units(VK_NULL_HANDLE, get, types, 0))
      operands.push_back(unit.a);
    return operands;
  };
  EXPECT_EQ(found(kAll).size(), 3u);
  EXPECT_EQ(found({DType::f16, DType::f32, DType::u8}), std::vector{DType::f16});
  EXPECT_EQ(found({DType::bf16, DType::f32}), std::vector{DType::bf16});
  EXPECT_EQ(found({DType::f16, DType::u8}), std::vector<DType>{});
}

}  // namespace
}  // namespace tcc::runtime::vulkan
