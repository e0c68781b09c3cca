// Suppression of boxes: the reference, kernels on software devices, and what compiles for CUDA.
#include <cmath>

#include "backends/compile/nvrtc.h"
#include "runtime/program.h"
#include "scheduler/target.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"
#include "tests/unit/suppress_suite.h"

namespace tcc::test::suppress {
namespace {

TEST(Suppress, KeepsWhatOnnxKeeps) {
  using ir::test::f32;
  using ir::test::run;
  using ir::test::tensor;
  const auto all = [](int64_t n) {
    return tensor(DType::boolean, {n}, std::vector<double>(static_cast<size_t>(n), 1));
  };
  // The boxes of ONNX's tests in the order of their scores.
  const auto boxes = f32({6, 4}, {0, 10,   1, 11,  0, 0,    1, 1,    0, 0.1, 1, 1.1,
                                  0, -0.1, 1, 0.9, 0, 10.1, 1, 11.1, 0, 100, 1, 101});
  EXPECT_EQ(run("suppress", {boxes, all(6), f32({1}, {0.5})}).i, (Flags{1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(run("suppress", {boxes, all(6), f32({}, {1})}).i, (Flags{1, 1, 1, 1, 1, 1}));
  const auto flipped = f32({6, 4}, {1, 11,  0, 10,   1, 1,    0, 0,    0, 0.1, 1, 1.1,
                                    0, 0.9, 1, -0.1, 0, 10.1, 1, 11.1, 1, 101, 0, 100});
  EXPECT_EQ(run("suppress", {flipped, all(6), f32({1}, {0.5})}).i, (Flags{1, 1, 0, 0, 0, 1}));
  const auto centers = f32({6, 4}, {0.5, 10.5, 1, 1, 0.5, 0.5,  1, 1, 0.5, 0.6,   1, 1,
                                    0.5, 0.4,  1, 1, 0.5, 10.6, 1, 1, 0.5, 100.5, 1, 1});
  EXPECT_EQ(run("suppress", {centers, all(6), f32({1}, {0.5})}, {{"center", true}}).i,
            (Flags{1, 1, 0, 0, 0, 1}));
  // Boxes that are not valid exclude nothing, and those that are excluded do not either.
  const auto row = f32({3, 4}, {0, 0, 1, 10, 0, 4, 1, 14, 0, 8, 1, 18});
  EXPECT_EQ(run("suppress", {row, all(3), f32({}, {0.4})}).i, (Flags{1, 0, 1}));
  EXPECT_EQ(run("suppress", {row, tensor(DType::boolean, {3}, {0, 1, 1}), f32({}, {0.4})}).i,
            (Flags{0, 1, 0}));
}

TEST(Suppress, TakesNoOverlapOfPointsAndNoNumbers) {
  using ir::test::f32;
  using ir::test::run;
  using ir::test::tensor;
  const auto all = tensor(DType::boolean, {4}, {1, 1, 1, 1});
  const auto boxes = f32({4, 4}, {0, 0, 1, 1, 0.5, 0.5, 0.5, 0.5, 0, 0, NAN, 1, 0, 0, INFINITY, 1});
  EXPECT_EQ(run("suppress", {boxes, all, f32({}, {0})}).i, (Flags{1, 1, 1, 1}));
  // Boxes that only touch have no common area, whatever the threshold.
  const auto apart = f32({4, 4}, {0, 0, 1, 1, 1, 0, 2, 1, 0, 1, 1, 2, 5, 5, 6, 6});
  EXPECT_EQ(run("suppress", {apart, all, f32({}, {-1})}).i, (Flags{1, 1, 1, 1}));
  EXPECT_EQ(run("suppress", {apart, all, f32({}, {NAN})}).i, (Flags{1, 1, 1, 1}));
}

TEST(Suppress, RefusesOtherShapes) {
  using ir::test::infer;
  const ir::Type number{DType::f32, ir::Shape{}};
  const ir::SymInt n = ir::SymInt::symbol("N");
  EXPECT_EQ(infer("suppress", {{DType::f16, {2, n, 4}}, {DType::boolean, {2, n}}, number}),
            "bool[2, N]");
  EXPECT_ERROR(infer("suppress", {{DType::f32, {9, 5}}, {DType::boolean, {9}}, number}),
               "boxes must be [..., n, 4], not [9, 5]");
  EXPECT_ERROR(infer("suppress", {{DType::f32, {9, 4}}, {DType::boolean, {8}}, number}),
               "operand 1 has the shape [8]; the boxes' is [9]");
  EXPECT_ERROR(infer("suppress", {{DType::f32, {9, 4}}, {DType::i32, {9}}, number}),
               "valid must be bool, not i32");
  EXPECT_ERROR(infer("suppress", {{DType::f32, {9, 4}}, {DType::boolean, {9}}, {DType::f32, {2}}}),
               "iou_threshold must have one element, not the shape [2]");
}

TEST(Suppress, ReferenceIsThePlainLoop) {
  for (const bool center : {false, true})
    for (const int64_t n : kLengths) {
      const Boxes boxes = random_boxes(3, n, center, Specials::some, 5);
      const ir::RefTensor result = ir::test::run(
          "suppress",
          {ir::test::f32({3, n, 4}, {boxes.numbers.begin(), boxes.numbers.end()}),
           ir::test::tensor(DType::boolean, {3, n}, {boxes.valid.begin(), boxes.valid.end()}),
           ir::test::f32({}, {0.3F})},
          {{"center", center}});
      EXPECT_EQ(difference_of(result.i, kept(boxes, center, 0.3F)), "") << n;
    }
}

INSTANTIATE_TEST_SUITE_P(Software, SuppressOnDevices,
                         ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& of) { return test_name(of.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SuppressOnDevices);

TEST(Suppress, CompilesForCuda) {
  if (const std::string reason = backends::nvrtc_missing(); !reason.empty())
    GTEST_SKIP() << "CUDA kernels were not compiled: " << reason;
  const ir::SymInt n = ir::SymInt::symbol("N", 5000);
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    for (const int64_t boxes : {20, 3000, 25200}) {
      const exec::Executable fixed =
          backends::compile(graph_of(80, boxes, false), sched::target_by_name(target));
      ASSERT_FALSE(fixed.kernels.empty());
      EXPECT_EQ(fixed.kernels[0].template_name, "suppress");
    }
    backends::CompileOptions options;
    options.open_dims = {{"N", {}}};
    EXPECT_FALSE(backends::compile(graph_of(1, n, true), sched::target_by_name(target), options)
                     .kernels.empty());
  }
}

// A group of many boxes gets large tiles, and many small groups small workgroups.
TEST(Suppress, TakesWorkgroupsForTheSizes) {
  const auto config = [](int64_t groups, int64_t n, const char* target) {
    const backends::Scheduled scheduled =
        backends::schedule(graph_of(groups, n, false), sched::target_by_name(target));
    return scheduled.regions.at(0).candidate().default_config();
  };
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a", "vulkan"}) {
    const sched::Config many = config(1, 25200, target), few = config(10000, 30, target);
    EXPECT_GE(many["threads"] * many["items"], 512) << target;
    EXPECT_LE(few["threads"], 64) << target;
  }
}

}  // namespace
}  // namespace tcc::test::suppress
