// Places of buffers in a block of device memory: none overlap, and all of it comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/vulkan/places.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr int64_t kGrain = Places::kGrain;

TEST(VulkanPlaces, AreOfWholeGrains) {
  Places places(4 * kGrain);
  EXPECT_EQ(places.take(0), 0);
  EXPECT_EQ(places.take(1), kGrain);
  EXPECT_EQ(places.take(kGrain + 1), 2 * kGrain);
  EXPECT_EQ(places.taken_bytes(), 4 * kGrain);
  EXPECT_EQ(places.take(0), std::nullopt);
}

TEST(VulkanPlaces, TheSmallestGapThatFitsIsTaken) {
  Places places(10 * kGrain);
  for (int i = 0; i < 10; ++i) places.take(1);
  for (const int64_t freed : {0, 1, 2, 5, 6, 8}) places.give_back(freed * kGrain);
  EXPECT_EQ(places.take(2 * kGrain), 5 * kGrain);
  EXPECT_EQ(places.take(kGrain), 8 * kGrain);
  EXPECT_EQ(places.take(4 * kGrain), std::nullopt);
  EXPECT_EQ(places.take(3 * kGrain), 0);
}

TEST(VulkanPlaces, NeighboursJoin) {
  Places places(3 * kGrain);
  for (int i = 0; i < 3; ++i) places.take(1);
  for (const int64_t freed : {0, 2, 1}) places.give_back(freed * kGrain);
  EXPECT_TRUE(places.is_empty());
  EXPECT_EQ(places.take(3 * kGrain), 0);
}

TEST(VulkanPlaces, OnlyPlacesAreGivenBack) {
  Places places(4 * kGrain);
  places.take(2 * kGrain);
  EXPECT_THROW(places.give_back(kGrain), InternalError);
  EXPECT_THROW(places.give_back(2 * kGrain), InternalError);
  places.give_back(0);
  EXPECT_THROW(places.give_back(0), InternalError);
  EXPECT_THROW(places.take(-1), InternalError);
  EXPECT_EQ(places.take(INT64_MAX - kGrain), std::nullopt);
}

TEST(VulkanPlaces, APlaceIsKnownByAnyOffsetInIt) {
  Places places(4 * kGrain);
  places.take(kGrain);
  places.take(2 * kGrain);
  EXPECT_EQ(places.bytes_from(0), kGrain);
  EXPECT_EQ(places.bytes_from(kGrain + 5), 2 * kGrain - 5);
  EXPECT_EQ(places.bytes_from(3 * kGrain), 0);
  places.give_back(0);
  EXPECT_EQ(places.bytes_from(7), 0);
}

TEST(VulkanPlaces, RandomOnesNeverOverlap) {
  std::mt19937 random(7);
  const int64_t bytes = 1000 * kGrain;
  Places places(bytes);
  struct Taken {
    int64_t offset, bytes;
  };
  std::vector<Taken> taken;
  std::vector<bool> used(1000);
  for (int step = 0; step < 20000; ++step) {
    if (taken.empty() || random() % 5 < 3) {
      const auto wanted =
          static_cast<int64_t>(random() % (random() % 8 == 0 ? 200 * kGrain : 3000));
      const auto offset = places.take(wanted);
      if (!offset) continue;
      ASSERT_EQ(*offset % kGrain, 0);
      const int64_t grains = std::max<int64_t>((wanted + kGrain - 1) / kGrain, 1);
      ASSERT_LE(*offset + grains * kGrain, bytes);
      for (int64_t i = 0; i < grains; ++i) {
        ASSERT_FALSE(used[*offset / kGrain + i]);
        used[*offset / kGrain + i] = true;
      }
      taken.push_back({*offset, grains * kGrain});
    } else {
      const size_t which = random() % taken.size();
      std::swap(taken[which], taken.back());
      places.give_back(taken.back().offset);
      for (int64_t i = 0; i < taken.back().bytes / kGrain; ++i)
        used[taken.back().offset / kGrain + i] = false;
      taken.pop_back();
    }
    ASSERT_EQ(places.taken_bytes(), std::count(used.begin(), used.end(), true) * kGrain);
  }
  for (const Taken& place : taken) places.give_back(place.offset);
  EXPECT_TRUE(places.is_empty());
  EXPECT_EQ(places.take(bytes), 0);
}

}  // namespace
}  // namespace tcc::runtime::vulkan
