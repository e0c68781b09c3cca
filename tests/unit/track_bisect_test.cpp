// Halving commits, and pairing the kernels of two builds.
#include <gtest/gtest.h>

#include <set>

#include "tools/track/bisect.h"
#include "tools/track/explain.h"

namespace tcc::tools {
namespace {

TEST(TrackBisect, FindsTheFirstBadCommitInLogarithmicallyManySteps) {
  for (size_t count = 1; count <= 40; ++count)
    for (size_t first = 0; first < count; ++first) {
      size_t asked = 0;
      const Narrowed narrowed = narrow(count, [&](size_t number) {
        EXPECT_LT(number, count - 1) << "the last one is known";
        ++asked;
        return std::optional<bool>(number >= first);
      });
      EXPECT_EQ(narrowed.first, first);
      EXPECT_EQ(narrowed.last, first);
      EXPECT_LE(asked, 6u);
    }
}

// Whatever cannot be judged: the first bad commit is never outside of what is left, no commit is
// asked for twice, and what is left ends at a bad one and begins behind a good one.
TEST(TrackBisect, CommitsThatCannotBeJudgedArePassedOver) {
  constexpr size_t kCount = 9;
  for (unsigned unknown = 0; unknown < 1u << (kCount - 1); ++unknown)
    for (size_t first = 0; first < kCount; ++first) {
      std::set<size_t> asked;
      const Narrowed narrowed = narrow(kCount, [&](size_t number) -> std::optional<bool> {
        EXPECT_TRUE(asked.insert(number).second) << number;
        if (unknown >> number & 1) return std::nullopt;
        return number >= first;
      });
      ASSERT_LE(narrowed.first, first);
      ASSERT_GE(narrowed.last, first);
      for (size_t i = narrowed.first; i < narrowed.last; ++i)
        ASSERT_TRUE(unknown >> i & 1) << "commit " << i << " could have been judged";
    }
}

TrackedKernel kernel(const std::string& region, const std::string& key,
                     std::vector<std::string> layers) {
  TrackedKernel one;
  one.region = region;
  one.key = key;
  one.layers = std::move(layers);
  one.launches = 1;
  one.source = key + "1";
  return one;
}

TEST(TrackExplain, PairsKernelsByKeyAndThenByLayers) {
  const std::vector<TrackedKernel> base = {kernel("a", "k1", {"x"}), kernel("b", "k2", {"y"}),
                                           kernel("c", "k3", {"z"})};
  std::vector<TrackedKernel> head = {kernel("d", "k9", {"y"}), kernel("a", "k1", {"moved"}),
                                     kernel("e", "k8", {"new"})};
  head[1].config = "block=4";
  const std::vector<KernelPair> pairs = paired(base, head);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].base, &base[1]) << "the layer y";
  EXPECT_EQ(pairs[1].base, &base[0]) << "the key k1";
  EXPECT_EQ(pairs[2].base, nullptr);
  EXPECT_EQ(pairs[3].head, nullptr);
  EXPECT_EQ(pairs[3].base, &base[2]);
  EXPECT_EQ(change_of(pairs[0]), "region b -> d; source");
  EXPECT_EQ(change_of(pairs[1]), "layers now with moved, without x; config  -> block=4");
  EXPECT_EQ(change_of(pairs[2]), "only in head");
  EXPECT_EQ(change_of(pairs[3]), "only in base");
}

// The table names the first layer and counts the others.
TEST(TrackExplain, LayersThatCameAndWentAreNamed) {
  const TrackedKernel base = kernel("a", "k", {"x", "same", "same", "y"});
  EXPECT_EQ(change_of({&base, &base}), "");
  TrackedKernel head = kernel("a", "k", {"x", "same", "p", "q", "r", "s", "t"});
  EXPECT_EQ(change_of({&base, &head}), "layers now with p, q, r and 2 more, without same, y");
  head.layers = {"x", "same", "same"};
  EXPECT_EQ(change_of({&base, &head}), "layers without y");
}

TEST(TrackExplain, TheLargestDifferenceStandsFirst) {
  std::vector<TrackedKernel> base = {kernel("small", "k1", {"x"}), kernel("large", "k2", {"y"})};
  std::vector<TrackedKernel> head = base;
  base[0].seconds = 1e-6, head[0].seconds = 2e-6;
  base[1].seconds = 10e-6, head[1].seconds = 12e-6;
  base[1].launches = head[1].launches = 3;
  const std::string table = kernel_table(base, head);
  EXPECT_LT(table.find("large"), table.find("small")) << table;
  EXPECT_NE(table.find("36.0"), std::string::npos) << table;
  EXPECT_NE(table.find("+20.0 %"), std::string::npos) << table;
}

}  // namespace
}  // namespace tcc::tools
