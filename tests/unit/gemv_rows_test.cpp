// Products of few rows whose kernels reduce the rows first, through NVRTC and without a GPU.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/target.h"
#include "tests/cubin.h"
#include "tests/few_rows.h"

namespace tcc::test {
namespace {

exec::Executable compile_text(const std::string& text, const std::string& target) {
  const ir::Graph graph = parse_yaml_graph(text, "g.yaml", ".").bind({});
  return backends::compile(graph, sched::target_by_name(target), {});
}

// A residual sum that is stored, a norm of it, and products that read the norm, in bf16.
std::string decoder_text(int64_t rows, int64_t width, int64_t columns, bool is_fixed) {
  const std::string weights = str("  w: {dtype: bf16, shape: [", width, ", ", columns, "]",
                                  is_fixed ? ", init: {normal: 0.02}" : "", "}\n");
  return str("tcc: 1\nname: g\ninputs:\n  x: {dtype: bf16, shape: [", rows, ", ", width,
             "]}\n  g: {dtype: bf16, shape: [", width, "]}\n", is_fixed ? "weights:\n" : "",
             weights, "nodes:\n", prologue_nodes("rms", false),
             "  - {out: y, op: matmul, in: [a, w]}\noutputs: [y]\n");
}

const exec::KernelBinary* gemv_of(const exec::Executable& executable) {
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (kernel.template_name == "gemv") return &kernel;
  return nullptr;
}

// Where launches overlap, a norm ahead of a product costs less than a launch.
TEST(GemvRows, NormsOfFewRowsJoinProductsWhereLaunchesDoNotOverlap) {
  const std::string text = decoder_text(1, 2048, 2048, true);
  const exec::Executable joined = compile_text(text, "cuda:sm_80");
  ASSERT_EQ(joined.kernels.size(), 1u);
  EXPECT_EQ(joined.kernels[0].template_name, "gemv");
  EXPECT_EQ(compile_text(text, "cuda:sm_90a").kernels.size(), 2u);
}

// A row for each of thousands of workgroups costs more than a launch.
TEST(GemvRows, TheCostModelDecides) {
  EXPECT_EQ(compile_text(decoder_text(1, 4096, 4096, true), "cuda:sm_80").kernels.size(), 1u);
  EXPECT_GE(compile_text(decoder_text(4, 65536, 16384, true), "cuda:sm_80").kernels.size(), 2u);
}

// A norm that others read, too, is stored by a kernel of its own.
TEST(GemvRows, NormsThatAreOutputsStayApart) {
  std::string text = decoder_text(1, 512, 512, true);
  text.replace(text.find("outputs: [y]"), 12, "outputs: [y, a]");
  EXPECT_EQ(compile_text(text, "cuda:sm_90a").kernels.size(), 2u);
}

// Each row of the product needs one row of the norm.
TEST(GemvRows, RowsOfHeadsAreNotThoseOfTheProduct) {
  const exec::Executable executable = compile_text(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [1, 16, 64]}, w: {dtype: f32, shape: "
      "[1024, "
      "512]}}\nnodes:\n  - {out: sq, op: square, in: [x]}\n"
      "  - {out: ms, op: mean, in: [sq], dim: [2], keepdim: true}\n"
      "  - {out: me, op: add, in: [ms, 0.001]}\n  - {out: rs, op: rsqrt, in: [me]}\n"
      "  - {out: nx, op: mul, in: [x, rs]}\n  - {out: a, op: reshape, in: [nx], shape: [1, 1024]}\n"
      "  - {out: y, op: matmul, in: [a, w]}\noutputs: [y]\n",
      "cuda:sm_90a");
  EXPECT_EQ(executable.kernels.size(), 2u);
}

// Fixed operands are read before the wait, and nothing else is: the launch overlaps.
TEST(GemvRows, OnlyFixedOperandsAreReadBeforeTheWait) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const bool is_fixed : {true, false}) {
    const exec::Executable executable =
        compile_text(decoder_text(1, 1024, 1024, is_fixed), "cuda:sm_90a");
    const exec::KernelBinary* kernel = gemv_of(executable);
    ASSERT_TRUE(kernel);
    EXPECT_TRUE(kernel->waits) << is_fixed;
    EXPECT_EQ(kernel->source.find("fixed_b = true") != std::string::npos, is_fixed);
  }
}

// Other loads and all stores before the wait count, whatever they leave in the caches.
TEST(GemvRows, TheMachineCodeTellsLoadsOfConstants) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const auto waits = [](std::string_view before, std::string_view after) {
    const std::string text =
        str("extern \"C\" __global__ void k(const unsigned* x, unsigned* y) {\n"
            "  unsigned a = 0, b = 0;\n  ",
            before, "\n  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n  ", after,
            "\n  y[threadIdx.x] = a + b;\n}\n");
    return backends::waits_first(backends::compile_cuda(text, "k.cu", "sm_90a"));
  };
  // Used at once, so that the compiler does not move it behind the wait.
  const auto load = [](std::string_view how) {
    return str("asm volatile(\"ld.global.nc", how,
               ".u32 %0, [%1];\" : \"=r\"(a) : \"l\"(x + threadIdx.x));\n"
               "  if (a == 77) asm volatile(\"nanosleep.u32 1;\");");
  };
  const std::string constant = load(".L1::evict_first.L2::128B");
  EXPECT_TRUE(waits("", load("")));
  EXPECT_TRUE(waits(constant, "b = x[1];"));
  for (const char* how : {"", ".L1::no_allocate", ".L1::evict_last", ".L2::128B"})
    EXPECT_FALSE(waits(load(how), "")) << how;
  EXPECT_FALSE(waits(constant + load(""), ""));
  EXPECT_FALSE(
      waits("asm volatile(\"st.global.L1::evict_first.u32 [%0], 1;\" :: \"l\"(y + 64));", ""));
}

TEST(GemvRows, CompileForAnyConfig) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  int64_t reduced = 0, early = 0;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                count = draws("TCC_PRODUCTS_COUNT", 24);
  for (int64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const Product product = draw_few_rows(random);
    const RandomConfigs configs(static_cast<uint64_t>(seed), product.fixed);
    backends::CompileOptions options;
    if (seed % 4 != 0) options.configs = &configs;
    if (!product.dtype.empty()) options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
    const ir::Graph graph = parse_yaml_graph(product.text, "g.yaml", ".").bind({});
    sched::Target target = sched::target_by_name(seed % 3 ? "cuda:sm_90a" : "cuda:sm_80");
    target.overlapping_launches &= seed % 2 == 0;
    const exec::Executable executable = backends::compile(graph, target, options);
    for (const exec::KernelBinary& kernel : executable.kernels) {
      if (kernel.template_name != "gemv") continue;
      reduced += kernel.source.find("start_rows(const") != std::string::npos;
      early += kernel.source.find("fixed_b = true") != std::string::npos;
      if (target.overlapping_launches) {
        EXPECT_TRUE(kernel.waits) << seed << " " << kernel.config << "\n" << product.text;
      }
    }
  }
  EXPECT_GT(reduced, 0);
  EXPECT_GT(early, 0);
}

}  // namespace
}  // namespace tcc::test
