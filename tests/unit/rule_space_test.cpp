// Spaces by rules.
#include <gtest/gtest.h>

#include "scheduler/templates/rule_space.h"

namespace tcc::sched {
namespace {

struct Blocks {
  int64_t block = 0, part = 0;
  bool turned = false;
};
struct Division : Blocks {
  explicit Division(const Blocks& blocks) : Blocks(blocks), parts(block / part) {}
  int64_t parts;
};
struct Case {
  using Values = Blocks;
  using Shape = Division;
  Blocks values() const { return {}; }
  Division shape(const Blocks& blocks) const { return Division(blocks); }
  int64_t most;
};

constexpr Rule<Blocks, Case> kValueRules[] = {
    {"there are parts", [](const auto& blocks, const auto&) { return blocks.part > 0; }},
    {"parts are whole",
     [](const auto& blocks, const auto&) { return blocks.block % blocks.part == 0; }},
};
constexpr Rule<Division, Case> kRules[] = {
    {"there are few", [](const auto& shape, const auto& of) { return shape.parts <= of.most; }},
};

RuleSpace<Case> space_of(int64_t most) {
  return {std::make_shared<const Case>(Case{most}),
          {{"block", {4, 8, 12}, "a block", &Blocks::block},
           {"part", {0, 3, 4}, "its parts", &Blocks::part},
           {"turned", {0, 1}, "whether it is turned", &Blocks::turned}},
          kValueRules,
          kRules};
}

TEST(RuleSpace, ConfigsAreLegalByTheRules) {
  const RuleSpace<Case> rules = space_of(2);
  const ConfigSpace space = rules.space();
  const auto violation = [&](int64_t block, int64_t part) {
    return space.violation({{"block", block}, {"part", part}, {"turned", 1}});
  };
  EXPECT_EQ(violation(8, 4), "");
  EXPECT_EQ(violation(8, 0), "there are parts");  // nothing was divided by it
  EXPECT_EQ(violation(8, 3), "parts are whole");
  EXPECT_EQ(violation(12, 3), "there are few");
  EXPECT_EQ(violation(12, 5), "parameter 'part' cannot be 5");
  ASSERT_EQ(space.parameters.size(), 3u);
  EXPECT_EQ(space.parameters[1].name, "part");
  EXPECT_EQ(space.parameters[1].doc, "its parts");
  EXPECT_EQ(rules.listed("block"), (std::vector<int64_t>{4, 8, 12}));
}

TEST(RuleSpace, VisitsWhatTheConfigSpaceEnumerates) {
  for (const int64_t most : {0, 1, 2, 4}) {
    const RuleSpace<Case> rules = space_of(most);
    std::vector<std::string> visited, enumerated;
    rules.each([&](const Division& shape) {
      const Config config = rules.config(shape);
      EXPECT_EQ(rules.shape(config).parts, shape.parts);
      EXPECT_EQ(rules.values(config).turned, shape.turned);
      visited.push_back(config.to_string());
      return true;
    });
    rules.space().enumerate([&](const Config& config) {
      enumerated.push_back(config.to_string());
      return true;
    });
    EXPECT_EQ(visited, enumerated);
    EXPECT_EQ(visited.size(), most == 0 ? 0u : most == 1 ? 2u : most == 2 ? 4u : 8u);
    EXPECT_EQ(rules.has_legal(), most > 0);
  }
}

TEST(RuleSpace, TheFirstOfLeastCostIsTheFastest) {
  const RuleSpace<Case> rules = space_of(4);
  const auto cost = [](const Division& shape) { return -shape.parts; };
  const auto fastest = rules.fastest(cost);
  ASSERT_TRUE(fastest);
  EXPECT_EQ(rules.config(fastest->values).to_string(), "block=12 part=3 turned=0");
  EXPECT_EQ(fastest->cost, -4);
  const auto turned = rules.fastest(cost, [](const Division& shape) { return shape.turned; });
  ASSERT_TRUE(turned);
  EXPECT_TRUE(turned->values.turned);
  EXPECT_FALSE(rules.fastest(cost, [](const Division&) { return false; }));
  EXPECT_EQ(rules.config(*rules.first()).to_string(), "block=4 part=4 turned=0");
}

}  // namespace
}  // namespace tcc::sched
