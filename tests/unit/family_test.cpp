// Families: regions that differ in sizes only share one; anything else separates them.
#include "scheduler/family.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

struct Scheduled {
  ir::Graph graph;
  backends::Scheduled result;
  const Region& region() const { return result.regions.at(0); }
  Family family() const { return family_of(region()); }
};

Scheduled schedule(const std::string& inputs, const std::string& nodes) {
  Scheduled scheduled;
  scheduled.graph = parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n", "g.yaml",
      ".");
  scheduled.result = backends::schedule(scheduled.graph, target_by_name("cuda:sm_90a"));
  EXPECT_EQ(scheduled.result.regions.size(), 1u);
  return scheduled;
}

Scheduled unary(const std::string& shape, const std::string& node, const char* dtype = "f32") {
  return schedule(str("x: {dtype: ", dtype, ", shape: ", shape, "}"), node);
}

TEST(FamilyTest, SizesAreLeftOutOfTheText) {
  const std::string relu = "{out: y, op: relu, in: [x]}";
  Family small = unary("[4, 6]", relu).family(), large = unary("[128, 1]", relu).family();
  EXPECT_EQ(small.key, large.key);
  EXPECT_EQ(small.extents, (std::vector<int64_t>{4, 6, 4, 6}));
  EXPECT_EQ(large.extents, (std::vector<int64_t>{128, 1, 128, 1}));
  EXPECT_NE(signature(unary("[4, 6]", relu).region()), signature(unary("[4, 7]", relu).region()));
}

TEST(FamilyTest, OpsTypesRanksAndAttributesSeparate) {
  const std::string relu = "{out: y, op: relu, in: [x]}";
  const std::string key = unary("[4, 6]", relu).family().key;
  EXPECT_NE(key, unary("[4, 6]", "{out: y, op: exp, in: [x]}").family().key);
  EXPECT_NE(key, unary("[4, 6]", relu, "f16").family().key);
  EXPECT_NE(key, unary("[24]", relu).family().key);
  EXPECT_NE(unary("[4, 6]", "{out: y, op: sum, in: [x], dim: 0}").family().key,
            unary("[4, 6]", "{out: y, op: sum, in: [x], dim: 1}").family().key);
}

TEST(FamilyTest, ConstantsThatFollowFromSizesDoNotSeparate) {
  const std::string mean = "{out: y, op: mean, in: [x], dim: 1}";
  Family a = unary("[8, 48]", mean).family(), b = unary("[16, 96]", mean).family();
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.extents.size(), b.extents.size());
}

TEST(FamilyTest, SizeAttributesBecomeExtents) {
  auto sliced = [](int end) {
    return unary("[32, 64]", str("{out: a, op: slice, in: [x], dim: 1, start: 2, end: ", end,
                                 "}, {out: y, op: exp, in: [a]}"))
        .family();
  };
  EXPECT_EQ(sliced(34).key, sliced(50).key);
  EXPECT_EQ(sliced(34).extents.size(), sliced(50).extents.size());
  EXPECT_NE(sliced(34).extents, sliced(50).extents);
}

TEST(FamilyTest, ContractionsAndConvolutions) {
  auto linear = [](int batch, int in, int out) {
    return schedule(str("x: {dtype: f32, shape: [", batch, ", ", in, "]}, w: {dtype: f32, shape: [",
                        out, ", ", in, "]}"),
                    "{out: h, op: linear, in: [x, w]}, {out: y, op: gelu, in: [h]}")
        .family();
  };
  EXPECT_EQ(linear(32, 784, 512).key, linear(8, 64, 64).key);
  auto conv = [](int size, int padding) {
    return schedule(str("x: {dtype: f32, shape: [2, 8, ", size, ", ", size,
                        "]}, w: {dtype: f32, shape: [16, 8, 3, 3]}"),
                    str("{out: y, op: conv2d, in: [x, w], padding: ", padding, "}"))
        .family();
  };
  EXPECT_EQ(conv(14, 1).key, conv(28, 1).key);
  EXPECT_NE(conv(14, 1).key, conv(14, 0).key);
}

TEST(FamilyTest, TheOrderInMemorySeparatesItsStridesDoNot) {
  const std::string relu = "{out: y, op: relu, in: [x]}";
  Scheduled a = unary("[4, 6]", relu), b = unary("[8, 2]", relu);
  auto with_order = [](const Scheduled& scheduled, std::vector<int> order) {
    Region region = scheduled.region();
    region.layouts[region.inputs[0]] = Layout::ordered(region.inputs[0]->shape(), order);
    return family_of(region).key;
  };
  EXPECT_EQ(with_order(a, {1, 0}), with_order(b, {1, 0}));
  EXPECT_EQ(with_order(a, {0, 1}), a.family().key);
  EXPECT_NE(with_order(a, {1, 0}), a.family().key);
  Region padded = a.region();
  padded.layouts[padded.inputs[0]].strides = {8, 1};
  EXPECT_NE(family_of(padded).key, a.family().key);
}

}  // namespace
}  // namespace tcc::sched
