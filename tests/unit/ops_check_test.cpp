// --check=ops: the first wrong value, its layer and its kernel; where NaNs arise.
#include "tools/ops_check.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "backends/build_executable.h"
#include "frontend/graph_file.h"
#include "tests/run_graph.h"

namespace tcc::tools {
namespace {

struct Built {
  ir::Graph graph;
  backends::CompileOptions options;
  backends::Scheduled scheduled;
  std::shared_ptr<const runtime::Program> program;
  std::vector<Tensor> inputs;
};

std::string software_device() {
  const auto& devices = test::devices_present(test::Devices::software);
  return devices.empty() ? "" : devices.front();
}

Built build(const std::string& text, bool fuse, const ir::SizeRanges& open = {}) {
  Built built{parse_yaml_graph(text, "net.yaml", "."), {}, {}, {}, {}};
  built.options.fuse = fuse;
  built.options.open_dims = open;
  const auto device = test::open_once(software_device());
  built.scheduled = backends::schedule(built.graph, device->target(), built.options);
  built.program = std::make_shared<const runtime::Program>(
      device, backends::build_executable(built.scheduled, device->target(), built.options));
  if (open.empty()) built.inputs = test::draw_inputs(*built.scheduled.graph, {});
  return built;
}

OpsCheck check(const Built& expected, const Built& run) {
  return check_ops(expected.scheduled, run.program, expected.inputs, false, nullptr);
}

std::string net(const std::string& activation) {
  return R"(
tcc: 1
inputs: {x: {dtype: f32, shape: [8, 16]}}
weights: {w: {dtype: f32, shape: [16, 16], init: {normal: 1}}}
nodes:
  - {out: dense, op: linear, in: [x, w]}
  - {out: act, op: )" +
         activation + R"(, in: [dense]}
  - {out: last, op: exp, in: [act]}
outputs: [last]
)";
}

class OpsCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (software_device().empty()) GTEST_SKIP() << "there is no software device";
  }
};

TEST_F(OpsCheckTest, RightKernelsPass) {
  for (const bool fuse : {true, false}) {
    const Built built = build(net("relu"), fuse);
    const OpsCheck result = check(built, built);
    EXPECT_EQ(result.values, built.program->executable().steps.size());
    EXPECT_EQ(result.differ, 0u);
    EXPECT_FALSE(result.first || result.first_nan || result.nan_origin || result.infinity_origin);
  }
}

// The kernels of another graph stand for wrong ones.
TEST_F(OpsCheckTest, TheFirstWrongValueIsNamed) {
  const Built expected = build(net("relu"), false), wrong = build(net("neg"), false);
  ASSERT_EQ(expected.scheduled.regions.size(), 3u);
  const OpsCheck result = check(expected, wrong);
  EXPECT_EQ(result.values, 3u);
  EXPECT_EQ(result.differ, 2u);  // the activation, and what is computed of it
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->name, "act");
  EXPECT_EQ(result.first->layers, ir::Layers{"act"});
  EXPECT_EQ(result.first->location, "net.yaml:7");
  EXPECT_EQ(result.first->launch, 1);
  EXPECT_FALSE(result.first->comparison.pass);
  const std::string text = ops_check_text(result);
  EXPECT_NE(text.find("first that differs: 'act' f32[8, 16]"), std::string::npos) << text;
  EXPECT_NE(text.find("2 not as in the reference"), std::string::npos) << text;
}

// An overflow of f16 becomes a NaN: both are said, although the device is right.
TEST_F(OpsCheckTest, NaNsOfTheReferenceAreNamedToo) {
  const Built built = build(R"(
tcc: 1
inputs: {x: {dtype: f16, shape: [4, 4]}}
nodes:
  - {out: one, op: exp, in: [x]}
  - {out: large, op: mul, in: [one, 60000.0]}
  - {out: larger, op: mul, in: [large, 60000.0]}
  - {out: none, op: sub, in: [larger, large]}
  - {out: y, op: neg, in: [none]}
outputs: [y]
)",
                            false);
  const OpsCheck result = check(built, built);
  EXPECT_EQ(result.differ, 0u);
  ASSERT_TRUE(result.infinity_origin && result.nan_origin && result.first_nan);
  EXPECT_EQ(result.nan_origin->layers, ir::Layers{"none"});
  EXPECT_EQ(result.first_nan->name, "none");
  EXPECT_GE(result.first_nan->launch, 0);
  EXPECT_NE(ops_check_text(result).find("first with NaN: 'none'"), std::string::npos);
}

// Values in other layouts than row-major, of no elements, and of integers.
TEST_F(OpsCheckTest, LayoutsAndEmptyValuesAreRead) {
  const Built built = build(R"(
tcc: 1
inputs:
  x: {dtype: f32, shape: [2, 6, 9, 7]}
  e: {dtype: f32, shape: [0, 3]}
weights: {w: {dtype: f32, shape: [8, 6, 3, 3], init: {normal: 1}}, v: {dtype: f32, shape: [8, 8, 3, 3], init: {normal: 1}}}
nodes:
  - {out: a, op: conv2d, in: [x, w], padding: [1, 1]}
  - {out: r, op: relu, in: [a]}
  - {out: b, op: conv2d, in: [r, v]}
  - {out: i, op: argmax, in: [b], dim: 1}
  - {out: f, op: exp, in: [e]}
outputs: [b, i, f]
)",
                            true);
  const OpsCheck result = check(built, built);
  EXPECT_EQ(result.differ, 0u) << ops_check_text(result);
  EXPECT_GE(result.values, 3u);
}

// One program at several sizes, each of which takes other kernels of those for parts of the range.
TEST_F(OpsCheckTest, ComparesAtSizesOfOpenDims) {
  const auto text = [](const char* last) {
    return str(
        "tcc: 1\ndims: {B: 4, S: 8}\n"
        "inputs: {x: {dtype: f32, shape: [B, S, 16]}}\n"
        "weights: {w: {dtype: f32, shape: [16, 16], init: {normal: 1}}}\n"
        "nodes:\n  - {out: dense, op: linear, in: [x, w]}\n"
        "  - {out: sums, op: sum, in: [dense], dim: 1}\n"
        "  - {out: last, op: ",
        last, ", in: [sums]}\noutputs: [last, dense]\n");
  };
  const ir::SizeRanges open = {{"B", {1, 256}}, {"S", {8, 64, 8}}};
  Built good = build(text("exp"), false, open), bad = build(text("neg"), false, open);
  std::set<std::vector<int>> kernels;
  for (const ir::Numbers& sizes :
       {ir::Numbers{{"B", 1}, {"S", 8}}, {{"B", 3}, {"S", 16}}, {{"B", 200}, {"S", 64}}}) {
    good.inputs = test::draw_inputs(good.graph.bind(sizes), {});
    const OpsCheck right = check(good, good);
    EXPECT_EQ(right.values, 3u);
    EXPECT_EQ(right.differ, 0u) << ops_check_text(right);
    const OpsCheck wrong = check(good, bad);
    EXPECT_EQ(wrong.differ, 1u);
    ASSERT_TRUE(wrong.first);
    EXPECT_EQ(wrong.first->name, "last");
    EXPECT_EQ(wrong.first->type, str("f32[", sizes.at("B"), ", 16]"));
    runtime::Context context(good.program);
    context.set_inputs(good.inputs);
    kernels.insert(context.step_counts());
  }
  EXPECT_GT(kernels.size(), 1u);
}

}  // namespace
}  // namespace tcc::tools
