// Residuals of products: which ones the copy engine brings to gemm_sm90's epilogue, and how.
#include "backends/device/common/gemm_sm90_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/templates/conv_gemm.h"
#include "tests/cubin.h"
#include "tests/random_products.h"

namespace tcc::test {
namespace {

// A product of [m, k] by [n, k] in bf16, and nodes that follow its result "p".
std::string product_text(int64_t m, int64_t n, int64_t k, const std::string& inputs,
                         const std::string& nodes) {
  return str("tcc: 1\nname: residuals\ninputs:\n  x: {dtype: bf16, shape: [", m, ", ", k,
             "]}\n  w: {dtype: bf16, shape: [", n, ", ", k, "]}\n", inputs,
             "nodes:\n  - {out: p, op: linear, in: [x, w]}\n", nodes, "outputs: [y]\n");
}

std::vector<sched::OperandView> views_of(const std::string& text) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const backends::Scheduled scheduled =
      backends::schedule(parse_yaml_graph(text, "residuals.yaml", "."), target);
  const auto gemm = sched::plan_conv_gemm(scheduled.regions.back().region(), target, "wgmma");
  if (!gemm) throw InternalError(gemm.reason());
  return gemm->residuals;
}

std::vector<sched::OperandView> views_of_sum(const std::string& shape, const std::string& dtype,
                                             int64_t n = 768) {
  const bool is_wide = dtype != "bf16";
  return views_of(product_text(512, n, 256, str("  r: {dtype: ", dtype, ", shape: ", shape, "}\n"),
                               is_wide ? str("  - {out: c, op: cast, in: [p], dtype: ", dtype,
                                             "}\n  - {out: y, op: add, in: [c, r]}\n")
                                       : "  - {out: y, op: add, in: [p, r]}\n"));
}

TEST(Residuals, AreMatricesOfTheResultsShape) {
  const auto views = views_of_sum("[512, 768]", "bf16");
  ASSERT_EQ(views.size(), 1);
  EXPECT_EQ(views[0].free_stride, 768);
  EXPECT_EQ(views[0].dtype, DType::bf16);
  EXPECT_EQ(views_of_sum("[512, 768]", "f32").size(), 1);
  EXPECT_TRUE(views_of_sum("[768]", "bf16").empty()) << "a bias";
  EXPECT_TRUE(views_of_sum("[512, 1]", "bf16").empty()) << "a column";
  EXPECT_TRUE(views_of_sum("[512, 765]", "bf16", 765).empty()) << "rows of odd length";
  EXPECT_TRUE(views_of_sum("[512, 764]", "bf16", 764).empty()) << "rows of 1528 bytes";
  EXPECT_EQ(views_of_sum("[512, 764]", "f32", 764).size(), 1);
}

TEST(Residuals, AreReadAsTheyLie) {
  const std::string inputs = "  r: {dtype: bf16, shape: [600, 1024]}\n";
  const auto of_slice = [&](int64_t row, int64_t column) {
    return views_of(product_text(
        512, 768, 256, inputs,
        str("  - {out: s, op: slice, in: [r], dim: 0, start: ", row, ", end: ", row + 512,
            "}\n  - {out: t, op: slice, in: [s], dim: 1, start: ", column, ", end: ", column + 768,
            "}\n  - {out: y, op: add, in: [p, t]}\n")));
  };
  const auto views = of_slice(16, 8);
  ASSERT_EQ(views.size(), 1);
  EXPECT_EQ(views[0].offset, 16 * 1024 + 8);
  EXPECT_EQ(views[0].free_stride, 1024);
  EXPECT_TRUE(of_slice(16, 3).empty()) << "rows begin anywhere";
}

TEST(Residuals, AreTwoAtMost) {
  std::string inputs, nodes, last = "p";
  for (int i = 0; i < 3; ++i) {
    inputs += str("  r", i, ": {dtype: bf16, shape: [512, 768]}\n");
    const std::string out = i == 2 ? "y" : str("s", i);
    nodes += str("  - {out: ", out, ", op: add, in: [", last, ", r", i, "]}\n");
    last = out;
  }
  EXPECT_EQ(views_of(product_text(512, 768, 256, inputs, nodes)).size(), 2);
}

// Strips take what stages do not need.
TEST(Residuals, LeaveStagesEnoughSharedMemory) {
  constexpr int64_t kShared = 227 * 1024;
  kernels::GemmSm90 g;
  g.product.segment = 8;
  g.product.k = 4096;
  g.block_n = 256;
  g.residual.rank = 2;
  EXPECT_EQ(kernels::sm90::strips_of_tile(g), 4) << "of a group's 64 rows";
  g.strips = kernels::sm90::strips_within(g, kShared);
  g.stages = kernels::sm90::stages_within(g, kShared);
  EXPECT_GT(g.strips, 0);
  EXPECT_EQ(g.stages, 3);
  EXPECT_LE(kernels::sm90::shared_bytes(g), kShared);
  kernels::GemmSm90 narrow = g;
  narrow.block_n = 128;
  narrow.pingpong = true;
  narrow.strips = kernels::sm90::strips_within(narrow, kShared);
  EXPECT_EQ(narrow.strips, 2) << "of four";
  EXPECT_EQ(kernels::sm90::stages_within(narrow, kShared), 5);
  narrow.product.k = 64;
  EXPECT_EQ(kernels::sm90::strips_within(narrow, kShared), 4) << "a tile has one k tile";
  g.residual.element = kernels::Element::f32;
  EXPECT_LT(kernels::sm90::strips_within(g, kShared), g.strips) << "twice the bytes";
  g.product.a.load = kernels::Load::computed;
  EXPECT_EQ(kernels::sm90::strips_within(g, kShared), 0) << "all threads load operands";
  g = {};
  EXPECT_EQ(kernels::sm90::strips_within(g, kShared), 0) << "no residual";
}

TEST(Residuals, RandomConfigsCompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  int64_t with_strips = 0;
  for (int64_t seed = 1; seed <= draws("TCC_PRODUCTS_COUNT", 8); ++seed) {
    const RandomConfigs configs(static_cast<uint64_t>(seed));
    backends::CompileOptions options;
    if (seed % 4 != 0) options.configs = &configs;
    const bool two = seed % 2 == 0, wide = seed % 3 == 0;
    const std::string inputs =
        str("  b: {dtype: bf16, shape: [768]}\n  r: {dtype: ", wide ? "f32" : "bf16",
            ", shape: [1000, 768]}\n", two ? "  s: {dtype: bf16, shape: [1000, 768]}\n" : "");
    const std::string nodes =
        str("  - {out: q, op: add, in: [p, b]}\n",
            wide ? "  - {out: c, op: cast, in: [q], dtype: f32}\n" : "",
            "  - {out: t, op: add, in: [", wide ? "c" : "q", ", r]}\n",
            two ? "  - {out: y, op: mul, in: [t, s]}\n" : "  - {out: y, op: relu, in: [t]}\n");
    const exec::Executable executable = backends::compile(
        parse_yaml_graph(product_text(1000, 768, 512, inputs, nodes), "residuals.yaml", "."),
        target, options);
    for (const exec::KernelBinary& kernel : executable.kernels) {
      if (kernel.template_name != "gemm_sm90") continue;
      with_strips += kernel.source.find("map_residual,") != std::string::npos ||
                     kernel.source.find("map_residual)") != std::string::npos;
      EXPECT_EQ(frame_bytes(kernel.code), 0) << kernel.config;
    }
  }
  EXPECT_GT(with_strips, 2);
}

}  // namespace
}  // namespace tcc::test
