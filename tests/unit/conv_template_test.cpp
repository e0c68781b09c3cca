// A template for convolutions that shares the outline of matrix products: it finds the image in the
// region, and its loads are maps of kind im2col.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/target_profile.h"
#include "scheduler/templates/conv_view.h"
#include "scheduler/templates/gemm_template.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

constexpr int kLoadChannels = 32, kSwizzle = 64;

// A product of which one operand is an image.
struct ImageProduct : Gemm {
  ConvView image;
  bool image_is_a;  // of the plan
};

struct Shape : GemmShape {
  Shape(const GemmCase<ImageProduct>& of, const Config& config)
      : GemmShape(of.facts, config),
        image_product(of.plan),
        image_first(image_product.image_is_a != swapped),
        tiles_m(ceil_div(side.m, block_m)),
        tiles_n(ceil_div(side.n, block_n)) {}
  ContractionTile tile() const { return {block_m, block_n, kLoadChannels, product.segment}; }
  int64_t pixels() const { return image_first ? block_m : block_n; }

  const ImageProduct& image_product;
  bool image_first;
  int64_t tiles_m, tiles_n;
};

class ConvTemplate : public GemmTemplate<Shape, GemmCase<ImageProduct>> {
 public:
  std::string_view name() const override { return "test_conv"; }
  int version() const override { return 1; }
  int specificity() const override { return 3; }
  std::string_view unit() const override { return "convmma"; }

 protected:
  // No kernel of the test is emitted.
  std::string_view source() const override { return "gemm_sm90"; }
  OrRefusal<ImageProduct> plan(const Region& region, const Target& target) const override {
    OrRefusal<Gemm> gemm = plan_gemm(region, target, unit());
    if (!gemm) return gemm.refusal();
    const bool image_is_a = gemm->plan.a.input == 0;
    OrRefusal<ConvView> image = conv_view(region, gemm->plan, image_is_a);
    if (!image) return image.refusal();
    if (image->channels % kLoadChannels != 0)
      return Refusal{str(image->channels, " channels are no whole loads")};
    const auto map = im2col_map(*image, "image", kLoadChannels, 64, kSwizzle);
    if (!map) return map.refusal();
    return ImageProduct{*std::move(gemm), *std::move(image), image_is_a};
  }
  void restrict_loads(MatrixOperand&) const override {}
  std::vector<Parameter> own_parameters() const override {
    return {
        {"block_m", {64, 128}, "rows"}, {"block_n", {64, 128}, "columns"}, {"band", {1, 2}, ""}};
  }
  std::vector<Constraint> constraints(const Target&) const override {
    return {{"tiles of 64 x 128 elements",
             [](const Shape& s) { return s.block_m * s.block_n == 64 * 128; }}};
  }
  std::vector<Config> candidates(const ImageProduct&) const override {
    return {{{"block_m", 64}, {"block_n", 128}}, {{"block_m", 128}, {"block_n", 64}}};
  }
  TileGrid grid(const Shape& s) const override {
    return {s.tiles_m, s.tiles_n, s.block_m, s.block_n, 1};
  }
  GemmCycles cycles(const Shape& s, const Target&, const EpilogueCost&) const override {
    GemmCycles cycles;
    cycles.working = static_cast<double>(s.tiles_m * s.tiles_n * s.k);
    return cycles;
  }
  void write(Kernel& kernel, GemmWriter& writer, const Shape& s, const Config&,
             const Target&) const override {
    kernel.workgroup = 128;
    kernel.grid = s.tiles_m * s.tiles_n * s.batches;
    kernel.maps = {*im2col_map(s.image_product.image, "image", kLoadChannels,
                               static_cast<int>(s.pixels()), kSwizzle)};
    writer.product(kernel.grid);
    writer.operand(!s.image_first, true);
  }
};

const RegisterTemplate<ConvTemplate> registered;

Target target_with_units() {
  Target target = target_by_name("cuda:sm_90a");
  target.matrix_units.push_back(*exec::parse_matrix_unit("convmma 64x64x16 f16 f16 f32 f32"));
  return target;
}

// The second convolution reads what the first one writes, which may have its channels last.
backends::Scheduled two_convolutions(const char* attributes) {
  const std::string text = str(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f16, shape: [2, 64, 14, 10]}, v: {dtype: f16, shape: "
      "[64, 64, 1, 1]}, w: {dtype: f16, shape: [96, 64, 3, 3]}}\nnodes:\n"
      "  - {out: h, op: conv2d, in: [x, v]}\n  - {out: y, op: conv2d, in: [h, w], ",
      attributes, "}\noutputs: [y]\n");
  return backends::schedule(parse_yaml_graph(text, "g.yaml", "."), target_with_units());
}

TEST(ConvTemplate, TakesImagesThroughTheOutlineOfProducts) {
  const backends::Scheduled scheduled = two_convolutions("padding: 1, stride: 2");
  ASSERT_EQ(scheduled.regions.size(), 2u);
  const Candidate& candidate = scheduled.regions[1].candidate();
  ASSERT_EQ(candidate.kernel_template().name(), "test_conv");
  EXPECT_EQ(candidate.space().violation(candidate.default_config()), "");
  EXPECT_GT(candidate.estimate(candidate.default_config()), 0);
  for (const int64_t swapped : {0, 1}) {
    Config config{{"block_m", 128}, {"block_n", 64}, {"band", 1}, {"swapped", swapped}};
    ASSERT_EQ(candidate.space().violation(config), "");
    const KernelSequence sequence = candidate.lower(config);
    verify(sequence, candidate.region());
    const Kernel& kernel = sequence.only();
    EXPECT_EQ(kernel.source, "gemm_sm90");
    ASSERT_EQ(kernel.maps.size(), 1u);
    const exec::TensorMap& map = kernel.maps[0];
    EXPECT_EQ(map.kind, exec::TensorMap::Kind::im2col);
    EXPECT_EQ(map.dims, (std::vector<SymInt>{64, 10, 14, 2}));
    EXPECT_EQ(map.steps, (std::vector{1, 2, 2, 1}));
    EXPECT_EQ(map.im2col.lower, (std::vector{-1, -1}));
    // The other side has a hook, beside the epilogue's.
    ASSERT_EQ(kernel.hooks.size(), 2u);
    const bool image_first = kernel.hooks[1].name.ends_with("_b");
    EXPECT_EQ(map.im2col.pixels, image_first ? 128 : 64);
  }
}

TEST(ConvTemplate, LeavesWhatIsNoImageToOtherTemplates) {
  const backends::Scheduled scheduled = two_convolutions("padding: 1, stride: 2");
  const Region& first = scheduled.regions[0].region();
  EXPECT_NE(scheduled.regions[0].candidate().kernel_template().name(), "test_conv");
  const Match match = find_template("test_conv")->match(first, target_with_units());
  ASSERT_FALSE(match);
  EXPECT_EQ(match.reason(), "channels of x are no neighbours in memory");
  const Match without = find_template("test_conv")
                            ->match(scheduled.regions[1].region(), target_by_name("cuda:sm_90a"));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.reason(), "the target has no convmma units");
  // More than eight pixels are beyond the copy engine.
  const backends::Scheduled far = two_convolutions("padding: 1, stride: 9");
  EXPECT_NE(far.regions[1].candidate().kernel_template().name(), "test_conv");
}

}  // namespace
}  // namespace tcc::sched
