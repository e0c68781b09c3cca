// Images under windows, as conv_view finds them in contractions, against the op's own attributes;
// and what it refuses.
#include "scheduler/templates/conv_view.h"

#include <gtest/gtest.h>

#include "autotune/search.h"
#include "backends/pipeline.h"
#include "executable/executable.h"
#include "frontend/graph_file.h"
#include "scheduler/layout.h"
#include "scheduler/templates/common.h"
#include "tests/im2col_cases.h"
#include "tests/unit/search_fixture.h"

namespace tcc::sched {
namespace {

using autotune::TemplateCase;

// The first alternatives are those that change nothing: convolutions of few tiles are not split, and
// images not copied.
struct NoRewrites : PlanSource {
  int64_t choose(const PlanSite& site, const Target&) const override {
    return site.alternatives.front();
  }
};

struct Found {
  OrRefusal<ConvView> view;
  ContractionPlan plan;
  bool of_a;
};
void expect_elements(const Found& found, const Region& region);

// The image is x, with its channels last unless `rows` is set; so is the weight w.
Found found(const std::string& inputs, const std::string& node, bool rows = false) {
  const NoRewrites unchanged;
  const TemplateCase made(inputs, node, "cuda:sm_90a", &unchanged);
  Region region = made.scheduled.regions.back().region();
  if (!rows)
    for (auto& [value, layout] : region.layouts)
      if (value->rank() >= 3) layout = channels_last(value->shape());
  OrRefusal<ContractionPlan> plan = plan_contraction(region);
  if (!plan) throw InternalError(plan.reason());
  const bool of_a = plan->a.input == 0;
  OrRefusal<ConvView> view = conv_view(region, *plan, of_a);
  Found result = {std::move(view), *std::move(plan), of_a};
  if (result.view) expect_elements(result, region);
  return result;
}

std::string image(const std::string& shape, const std::string& weight, const char* dtype = "f16") {
  return str("x: {dtype: ", dtype, ", shape: [", shape, "]}, w: {dtype: ", dtype, ", shape: [",
             weight, "]}");
}

// Without along_k.
using Spatial = ConvView::Spatial;
Spatial dim(int64_t extent, int64_t pitch, int64_t outputs, int64_t step, int64_t taps,
            int64_t dilation, int64_t padding) {
  return {extent, pitch, outputs, step, taps, dilation, padding, 0};
}
// Every element of the view is what the contraction reads at these indices.
void expect_elements(const Found& found, const Region& region) {
  const ConvView& view = *found.view;
  const ContractionPlan& plan = found.plan;
  const int64_t pixels = view.pixels().value(), k_size = plan.k.fixed_size(),
                groups = plan.batch.fixed_size();
  for (int64_t n = 0; n < 500; ++n) {
    const int64_t batch = n * 7 % groups, pixel = n * 131 % pixels, k = n * 89 % k_size;
    Inliner inliner(region);
    const Expr read = operand_element(inliner, region, plan, found.of_a, batch, pixel, k);
    int64_t offset = view.offset + k % view.channels, rest = pixel;
    for (const OperandView::BatchAxis& axis : view.batch)
      offset +=
          batch / axis.inside.value() % axis.extent.value() * axis.stride.value();
    bool inside = true;
    for (size_t d = view.spatial.size(); d-- > 0;) {
      const Spatial& s = view.spatial[d];
      const int64_t tap = s.along_k == 0 ? 0 : k / s.along_k % s.taps;
      const int64_t at = rest % s.outputs * s.step + tap * s.dilation - s.padding;
      rest /= s.outputs;
      inside = inside && at >= 0 && at < s.extent;
      offset += at * s.pitch;
    }
    offset += rest * view.image_pitch;
    if (!inside) {
      EXPECT_TRUE(ir::is_const(read, 0)) << ir::to_string(read);
      continue;
    }
    ASSERT_EQ(read->kind, ir::ExprNode::Kind::load) << ir::to_string(read);
    EXPECT_TRUE(read->index.is(offset)) << read->index << " instead of " << offset;
  }
}

void expect_spatial(const ConvView& view, const std::vector<Spatial>& expected) {
  ASSERT_EQ(view.spatial.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Spatial &a = view.spatial[i], &b = expected[i];
    if (a.taps == 1) { EXPECT_EQ(a.along_k, 0); }
    EXPECT_EQ((std::vector{a.extent, a.pitch, a.outputs, a.step, a.taps, a.dilation, a.padding}),
              (std::vector{b.extent, b.pitch, b.outputs, b.step, b.taps, b.dilation, b.padding}))
        << "dim " << i;
  }
}

TEST(ConvView, FindsWindowsOfOneToThreeDims) {
  const Found two =
      found(image("4, 32, 14, 10", "64, 32, 3, 3"), "op: conv2d, in: [x, w], padding: 1");
  ASSERT_TRUE(two.view) << two.view.reason();
  const ConvView& view = *two.view;
  expect_spatial(view, {dim(14, 320, 14, 1, 3, 1, 1), dim(10, 32, 10, 1, 3, 1, 1)});
  EXPECT_EQ(std::pair(view.images.value(), view.image_pitch),
            std::pair(int64_t{4}, int64_t{14 * 320}));
  EXPECT_EQ(std::pair(view.channels, view.all_channels), std::pair(int64_t{32}, int64_t{32}));
  EXPECT_EQ(view.offset, 0);
  EXPECT_TRUE(view.batch.empty());
  EXPECT_EQ(view.pixels(), (two.of_a ? two.plan.m : two.plan.n).size());
  EXPECT_EQ(view.taps() * view.channels, two.plan.k.size());

  const Found one = found(image("3, 16, 40", "8, 16, 5"),
                          "op: conv1d, in: [x, w], padding: 2, dilation: 2, stride: 3");
  ASSERT_TRUE(one.view) << one.view.reason();
  expect_spatial(*one.view, {dim(40, 16, 12, 3, 5, 2, 2)});

  const Found three = found(image("2, 16, 6, 7, 8", "8, 16, 2, 3, 3"),
                            "op: conv3d, in: [x, w], padding: [0, 1, 2], stride: [1, 2, 1]");
  ASSERT_TRUE(three.view) << three.view.reason();
  expect_spatial(*three.view, {dim(6, 7 * 8 * 16, 5, 1, 2, 1, 0), dim(7, 8 * 16, 4, 2, 3, 1, 1),
                               dim(8, 16, 10, 1, 3, 1, 2)});
}

TEST(ConvView, FindsGroupsAndWindowsOfOnePixel) {
  const Found groups =
      found(image("2, 32, 9, 9", "48, 8, 3, 3"), "op: conv2d, in: [x, w], padding: 1, groups: 4");
  ASSERT_TRUE(groups.view) << groups.view.reason();
  EXPECT_EQ(std::pair(groups.view->channels, groups.view->all_channels),
            std::pair(int64_t{8}, int64_t{32}));
  ASSERT_EQ(groups.view->batch.size(), 1u);
  EXPECT_EQ(groups.view->batch[0].extent, 4);
  EXPECT_EQ(groups.view->batch[0].stride, 8);
  EXPECT_EQ(groups.view->batch[0].inside, 1);

  const Found pixel =
      found(image("2, 32, 9, 9", "48, 32, 1, 1"), "op: conv2d, in: [x, w], stride: 2");
  ASSERT_TRUE(pixel.view) << pixel.view.reason();
  expect_spatial(*pixel.view, {dim(9, 288, 5, 2, 1, 1, 0), dim(9, 32, 5, 2, 1, 1, 0)});
}

// Padding of one side alone, and windows that never leave the image.
TEST(ConvView, FindsUnevenPadding) {
  const Found uneven = found(image("1, 8, 12, 12", "16, 8, 3, 3"),
                             "op: convolution, in: [x, w], padding: [0, 2, 1, 0]");
  ASSERT_TRUE(uneven.view) << uneven.view.reason();
  expect_spatial(*uneven.view, {dim(12, 96, 12, 1, 3, 1, 0), dim(12, 8, 11, 1, 3, 1, 1)});
  const Found cropped = found(image("1, 8, 12, 12", "16, 8, 3, 3"),
                              "op: convolution, in: [x, w], padding: [-2, 0, 0, 0]");
  ASSERT_TRUE(cropped.view) << cropped.view.reason();
  expect_spatial(*cropped.view, {dim(12, 96, 8, 1, 3, 1, -2), dim(12, 8, 10, 1, 3, 1, 0)});
}

TEST(ConvView, RefusesWithReasons) {
  struct Case {
    std::string inputs, node;
    bool rows;
    const char* reason;
  };
  const Case cases[] = {
      {image("2, 32, 9, 9", "48, 32, 3, 3"), "op: conv2d, in: [x, w], padding: 1", true,
       "channels of x are no neighbours in memory"},
      {image("2, 8, 9, 9", "16, 8, 3, 3"),
       "op: convolution, in: [x, w], input_dilation: 2, padding: 2", false,
       "dim 2 of x is read at"},
      {"x: {dtype: f16, shape: [64, 64]}, w: {dtype: f16, shape: [64, 64]}",
       "op: linear, in: [x, w]", true, "x is read without windows"},
      {image("1, 4, 5, 5, 5, 5", "8, 4, 2, 2, 2, 2"), "op: convolution, in: [x, w]", false,
       "x has 4 spatial dims"},
  };
  for (const Case& one : cases) {
    const Found result = found(one.inputs, one.node, one.rows);
    ASSERT_FALSE(result.view) << one.reason;
    EXPECT_NE(result.view.reason().find(one.reason), std::string::npos) << result.view.reason();
  }
}

TEST(ConvView, RefusesWhatIsComputed) {
  const ir::Graph graph =
      parse_yaml_graph("tcc: 1\nname: g\ninputs: {" + image("1, 4, 5, 5", "8, 4, 3, 3") +
                           "}\nnodes:\n  - {out: r, op: relu, in: [x]}\n"
                           "  - {out: y, op: conv2d, in: [r, w], padding: 1}\noutputs: [y]\n",
                       "g.yaml", ".");
  const backends::Scheduled scheduled = backends::schedule(graph, target_by_name("vulkan"));
  for (const ScheduledRegion& scheduled_region : scheduled.regions) {
    const Region& region = scheduled_region.region();
    if (!region.anchor) continue;
    const OrRefusal<ContractionPlan> plan = plan_contraction(region);
    ASSERT_TRUE(plan);
    const OrRefusal<ConvView> view = conv_view(region, *plan, plan->a.input == 0);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.reason(), region.nodes.size() > 1 ? "r is computed"
                                                     : "channels of r are no neighbours in memory");
  }
}

// The maps that a GPU's test reads by, against the attributes of the op.
TEST(ConvView, BecomesTheMapsThatDevicesRead) {
  for (const test::Im2colCase& c : test::kIm2colCases) {
    const exec::TensorMap map = test::im2col_map_of(c);
    EXPECT_EQ(map.kind, exec::TensorMap::Kind::im2col);
    EXPECT_EQ(map.dtype, DType::f32);
    EXPECT_EQ(map.dims, (std::vector<SymInt>{c.channels, c.width, c.height, c.images}));
    EXPECT_EQ(map.strides, (std::vector<SymInt>{c.channels * 4, c.width * c.channels * 4,
                                                c.height * c.width * c.channels * 4}));
    EXPECT_EQ(map.steps, (std::vector{1, c.stride, c.stride, 1}));
    EXPECT_EQ(map.im2col.lower, (std::vector{-c.padding, -c.padding}));
    const int columns = (c.columns() - 1) * c.stride, rows = (c.rows() - 1) * c.stride;
    EXPECT_EQ(map.im2col.upper, (std::vector{columns - c.padding - (c.width - 1),
                                             rows - c.padding - (c.height - 1)}));
  }
}

// A map's fields, and the bounds of the copy engine.
TEST(ConvView, BecomesAMap) {
  const Found made =
      found(image("4, 32, 14, 10", "64, 32, 3, 5"),
            "op: conv2d, in: [x, w], padding: [1, 4], dilation: [1, 2], stride: [2, 1]");
  ASSERT_TRUE(made.view) << made.view.reason();
  const auto map = im2col_map(*made.view, "image", 32, 128, 64);
  ASSERT_TRUE(map) << map.reason();
  EXPECT_EQ(map->kind, exec::TensorMap::Kind::im2col);
  EXPECT_EQ(map->dims, (std::vector<SymInt>{32, 10, 14, 4}));
  EXPECT_EQ(map->strides, (std::vector<SymInt>{64, 640, 14 * 640}));
  EXPECT_EQ(map->steps, (std::vector{1, 1, 2, 1}));
  EXPECT_EQ(map->im2col.lower, (std::vector{-4, -1}));
  // 10 windows along the rows end at 9 - 4; 7 windows, 2 apart, at 11.
  EXPECT_EQ(map->im2col.upper, (std::vector{-4, -2}));
  EXPECT_EQ(std::pair(map->im2col.channels, map->im2col.pixels), std::pair(32, 128));
  exec::StandaloneKernel kernel;
  kernel.workgroup = 32;
  kernel.num_arguments = 3;
  kernel.num_maps = 1;
  kernel.maps = {*map};
  EXPECT_NO_THROW(exec::check(exec::StandaloneSequence(kernel)));

  const auto refused = [&](const auto& change, const char* reason) {
    ConvView view = *made.view;
    change(view);
    const auto other = im2col_map(view, "image", 32, 128, 64);
    ASSERT_FALSE(other) << reason;
    EXPECT_EQ(other.reason(), reason);
  };
  refused([](ConvView& v) { v.spatial[0].step = 9; }, "steps of 9 pixels");
  refused([](ConvView& v) { v.spatial[1].padding = 200; }, "windows that reach from -200 to -200");
  refused([](ConvView& v) { v.spatial[1].pitch = 30; }, "pixels that lie 30 elements apart");
  refused([](ConvView& v) { v.offset = 4; }, "it begins at element 4");
  refused([](ConvView& v) { v.image_pitch = 1; }, "images that lie 1 elements apart");
  refused([](ConvView& v) { v.batch = {{2, 4, 1}}; }, "groups of 4 channels");
  const auto narrow = im2col_map(*made.view, "image", 4, 128, 64);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.reason(), "loads of 4 channels");
}

}  // namespace
}  // namespace tcc::sched
