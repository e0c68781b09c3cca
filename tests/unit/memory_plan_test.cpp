// The arena, for lifetimes drawn at random: what lives at once never overlaps, and the size lies
// between the most that is live and the sum of all.
#include "scheduler/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/error.h"

namespace tcc::sched {
namespace {

struct Drawn {
  int count, steps, longest;
  int64_t most_units;  // of kArenaAlignment
};

std::vector<Lifetime> draw(const Drawn& drawn, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<Lifetime> lifetimes(static_cast<size_t>(drawn.count));
  for (Lifetime& one : lifetimes) {
    one.bytes = kArenaAlignment * (1 + below(drawn.most_units));
    one.first = static_cast<int>(below(drawn.steps));
    one.last = one.first + static_cast<int>(below(drawn.longest));
  }
  std::ranges::stable_sort(lifetimes, {}, &Lifetime::first);
  return lifetimes;
}

bool meet(int64_t a, int64_t a_end, int64_t b, int64_t b_end) { return a < b_end && b < a_end; }

void check(const std::vector<Lifetime>& lifetimes, int64_t size, const std::string& what) {
  int64_t sum = 0, end = 0;
  for (const Lifetime& one : lifetimes) {
    EXPECT_GE(one.offset, 0) << what;
    EXPECT_EQ(one.offset % kArenaAlignment, 0) << what;
    sum += one.bytes;
    end = std::max(end, one.offset + one.bytes);
  }
  EXPECT_EQ(size, end) << what;
  EXPECT_LE(size, sum) << what;
  EXPECT_GE(size, live_peak(lifetimes)) << what;
  for (size_t i = 0; i < lifetimes.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Lifetime &a = lifetimes[i], &b = lifetimes[j];
      const bool at_once = a.first <= b.last && b.first <= a.last;
      EXPECT_FALSE(at_once && meet(a.offset, a.offset + a.bytes, b.offset, b.offset + b.bytes))
          << what << ": " << i << " and " << j;
    }
}

// Adds up what is live at each step.
int64_t peak_by_counting(const std::vector<Lifetime>& lifetimes) {
  int64_t peak = 0;
  for (const Lifetime& at : lifetimes) {
    int64_t live = 0;
    for (const Lifetime& one : lifetimes)
      if (one.first <= at.first && at.first <= one.last) live += one.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(MemoryPlanTest, NothingThatLivesAtOnceOverlaps) {
  const Drawn shapes[] = {{1, 1, 1, 1},     {2, 2, 2, 4},    {8, 4, 4, 3},    {30, 30, 2, 1000},
                          {30, 30, 30, 8},  {60, 20, 5, 64}, {60, 60, 1, 64}, {60, 3, 60, 64},
                          {100, 100, 9, 2}, {100, 50, 50, 1}};
  for (const Drawn& drawn : shapes)
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const std::string what = str(drawn.count, " of ", drawn.steps, " steps, seed ", seed);
      std::vector<Lifetime> lifetimes = draw(drawn, seed), again = lifetimes;
      EXPECT_EQ(live_peak(lifetimes), peak_by_counting(lifetimes)) << what;
      const int64_t size = plan_arena(lifetimes);
      check(lifetimes, size, what);
      EXPECT_EQ(plan_arena(again), size) << what;
      for (size_t i = 0; i < lifetimes.size(); ++i)
        EXPECT_EQ(again[i].offset, lifetimes[i].offset) << what;
    }
}

TEST(MemoryPlanTest, NoLifetimesNeedNoArena) {
  std::vector<Lifetime> none;
  EXPECT_EQ(plan_arena(none), 0);
  EXPECT_EQ(live_peak(none), 0);
}

// A chain: each value lives until the next one is written.
TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int step = 0; step < 20; ++step)
    chain.push_back({.bytes = 1024, .first = step, .last = step + 1});
  EXPECT_EQ(plan_arena(chain), 2048);
}

}  // namespace
}  // namespace tcc::sched
