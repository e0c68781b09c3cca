// Draws of legal configs.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "scheduler/config.h"

namespace tcc::sched {
namespace {

std::vector<int64_t> up_to(int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= last; ++value) values.push_back(value);
  return values;
}

// A space of parameters p0, p1 .. with values from 1.
ConfigSpace space_of(size_t parameters, int64_t last, std::function<bool(const Config&)> holds) {
  ConfigSpace space;
  for (size_t p = 0; p < parameters; ++p)
    space.parameters.push_back({"p" + std::to_string(p), up_to(last), ""});
  space.constraints = {{"legal", std::move(holds)}};
  return space;
}

std::vector<Config> draw(const ConfigSpace& space, uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  const std::vector<Config> drawn = space.draw(std::ref(random), count);
  EXPECT_LE(drawn.size(), count);
  for (const Config& config : drawn) EXPECT_EQ(space.violation(config), "");
  EXPECT_EQ(std::set<Config>(drawn.begin(), drawn.end()).size(), drawn.size());
  return drawn;
}

TEST(Config, IsSortedByName) {
  Config config = {{"c", 1}, {"a", 2}};
  config.set("b", 3);
  config.set("c", 4);
  EXPECT_EQ(config.to_string(), "a=2 b=3 c=4");
  EXPECT_EQ(config, (Config{{"a", 2}, {"b", 3}, {"c", 4}}));
  EXPECT_LT(config, (Config{{"a", 2}, {"b", 4}}));
  EXPECT_EQ(config["c"], 4);
  EXPECT_EQ(config.find("d"), nullptr);
  EXPECT_FALSE(config.has(""));
}

// Constraints are asked about configs of the space alone.
TEST(ConfigSpace, ListsConfigsOfItsParameters) {
  const ConfigSpace space = space_of(2, 8, [](const Config& c) { return c["p0"] != c["p1"]; });
  EXPECT_TRUE(space.lists({{"p0", 1}, {"p1", 8}}));
  EXPECT_TRUE(space.lists({{"p0", 1}, {"p1", 1}}));
  EXPECT_EQ(space.violation({{"p0", 1}, {"p1", 1}}), "legal");
  for (const Config& other :
       {Config{{"p0", 1}}, Config{{"p0", 1}, {"p1", 9}}, Config{{"p0", 1}, {"p2", 1}},
        Config{{"p0", 1}, {"p1", 2}, {"p2", 1}}}) {
    EXPECT_FALSE(space.lists(other)) << other.to_string();
    EXPECT_NE(space.violation(other), "") << other.to_string();
  }
}

TEST(ConfigSpace, DrawsEachLegalConfigAsOften) {
  const ConfigSpace space =
      space_of(2, 8, [](const Config& c) { return c["p0"] <= c["p1"]; });  // 36
  constexpr int kRounds = 36 * 100;
  std::map<std::string, int> times;
  for (int round = 0; round < kRounds; ++round)
    for (const Config& config : draw(space, static_cast<uint64_t>(round), 1))
      ++times[config.to_string()];
  EXPECT_EQ(times.size(), 36u);
  for (const auto& [config, count] : times) {
    EXPECT_GT(count, 60) << config;
    EXPECT_LT(count, 140) << config;
  }
  EXPECT_EQ(draw(space, 7, 5), draw(space, 7, 5));
  EXPECT_NE(draw(space, 7, 5), draw(space, 8, 5));
  EXPECT_EQ(draw(space, 1, 36).size(), 36u);
  EXPECT_EQ(draw(space, 1, 100).size(), 36u);
}

// One in 8,000, and in 64,000: draws miss most of them.
TEST(ConfigSpace, DrawsRareConfigsByEnumeration) {
  const ConfigSpace space = space_of(4, 20, [](const Config& c) {
    return c["p0"] == c["p1"] && c["p0"] == c["p2"] && c["p0"] == c["p3"] && c["p0"] != 3;
  });
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (const Config& config : draw(space, seed, 8)) seen.insert(config.to_string());
  EXPECT_GE(seen.size(), 12u);  // of 19: not the same ones each time
  const ConfigSpace smaller = space_of(
      3, 40, [](const Config& c) { return c["p0"] == 40 && c["p1"] == 1 && c["p2"] == 17; });
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ASSERT_EQ(draw(smaller, seed, 3).size(), 1u);
    EXPECT_EQ(draw(smaller, seed, 3)[0].to_string(), "p0=40 p1=1 p2=17");
  }
  EXPECT_TRUE(draw(space_of(3, 10, [](const Config&) { return false; }), 1, 1).empty());
}

TEST(ConfigSpace, DrawsFromNeighboursInHugeSpaces) {
  const ConfigSpace space = space_of(
      20, 64, [](const Config& c) { return c["p17"] == 5 && c["p18"] == 6 && c["p19"] == 7; });
  const std::vector<Config> drawn = draw(space, 3, 1);
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_NE(draw(space, 4, 1), drawn);
  EXPECT_TRUE(draw(space_of(20, 64, [](const Config&) { return false; }), 1, 1).empty());
}

// A space without parameters has one config.
TEST(ConfigSpace, DrawsTheOnlyConfig) {
  EXPECT_EQ(draw(ConfigSpace(), 1, 2), std::vector<Config>(1));
  EXPECT_TRUE(draw(space_of(2, 0, [](const Config&) { return true; }), 1, 1).empty());
}

}  // namespace
}  // namespace tcc::sched
