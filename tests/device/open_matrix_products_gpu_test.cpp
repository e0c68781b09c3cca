// Products on matrix units of CUDA whose sizes come at run time.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/open_products.h"

namespace tcc::test {
namespace {

void check(const char* unit, const char* template_name, const DrawOpen& draw) {
  check_open_products(runtime::open_device("cuda:0"), unit, template_name, draw, 40);
}

TEST(OpenMatrixProducts, OnWgmmaAgreeWithTheReference) {
  check("wgmma", "gemm_sm90", draw_open_product);
}
TEST(OpenMatrixProducts, OnMmaAgreeWithTheReference) {
  check("mma", "gemm_sm80", draw_open_product);
}
TEST(OpenMatrixProducts, ConvolutionsOnWgmmaAgreeWithTheReference) {
  check("wgmma", "gemm_sm90", draw_open_convolution);
}
TEST(OpenMatrixProducts, ConvolutionsOnMmaAgreeWithTheReference) {
  check("mma", "gemm_sm80", draw_open_convolution);
}

TEST(OpenMatrixProducts, InPartsOnMmaAgreeWithTheReference) {
  check("mma", "gemm_sm80", [](std::mt19937_64& random) {
    OpenProduct product = draw_open_product(random);
    product.fixed["split_k"] = test::pick(random, {2, 3, 4, 8});
    return product;
  });
}

TEST(OpenMatrixProducts, OfFewRowsAgreeWithTheReference) {
  const auto device = runtime::open_device("cuda:0");
  int64_t used = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed)
    check_open_product(device, device->target(), seed, draw_few_open_rows,
                       [&](const exec::Executable& executable) {
                         for (const exec::KernelBinary& kernel : executable.kernels)
                           used += kernel.template_name == "gemv";
                       });
  EXPECT_GT(used, 0) << "no product is gemv's";
}

// Seconds of a linear layer with a bias, at its usual number of rows.
double seconds_of(const std::shared_ptr<runtime::Device>& device, const sched::Target& target,
                  int64_t m, int64_t n, int64_t k, bool open) {
  const ir::Graph graph = parse_yaml_graph(
      str("tcc: 1\nname: linear\ndims: {M: ", m, "}\ninputs: {x: {dtype: bf16, shape: [M, ", k,
          "]}, w: {dtype: bf16, shape: [", n, ", ", k, "]}, b: {dtype: bf16, shape: [", n,
          "]}}\nnodes:\n  - {out: y, op: linear, in: [x, w, b]}\noutputs: [y]\n"),
      "linear.yaml", ".");
  backends::CompileOptions options;
  if (open) options.open_dims["M"] = {.least = 1, .most = 8192, .multiple = 1};
  const ir::Graph bound = graph.bind({});
  exec::Executable executable = backends::compile(open ? graph : bound, target, options);
  std::map<std::string, int64_t, std::less<>> sizes;
  if (open) sizes["M"] = m;
  runtime::Context context(std::make_shared<const runtime::Program>(device, std::move(executable)),
                           nullptr, sizes);
  context.set_inputs(draw_inputs(bound, {.lo = -1, .hi = 1, .seed = 1}));
  double best = HUGE_VAL;
  for (int n_run = 0; n_run < 8; ++n_run) best = std::min(best, context.time_replay(25));
  return best;
}

// At the size that its config was chosen for, an open product takes about as long as one of
// numbers. It needs an idle device: --gtest_also_run_disabled_tests runs it.
TEST(OpenMatrixProducts, DISABLED_AreAsFastAsProductsOfNumbers) {
  const auto device = runtime::open_device("cuda:0");
  for (const char* unit : {"wgmma", "mma"}) {
    sched::Target target = device->target();
    if (!target.has_matrix_unit(unit)) continue;
    target.matrix_units = exec::units_of_kinds(target.matrix_units, {unit});
    double logs = 0, worst = 1;
    int count = 0;
    for (const auto& [m, n, k] : {std::tuple{16, 4096, 4096},
                                  {100, 3072, 768},
                                  {128, 768, 3072},
                                  {511, 768, 768},
                                  {1024, 4096, 1024},
                                  {2048, 2304, 768},
                                  {4000, 4096, 4096}}) {
      const double fixed = seconds_of(device, target, m, n, k, false),
                   open = seconds_of(device, target, m, n, k, true), ratio = fixed / open;
      std::printf("%s %d x %d x %d: fixed %.2f us, open %.2f us, %.3f\n", unit, m, n, k,
                  fixed * 1e6, open * 1e6, ratio);
      logs += std::log(ratio);
      worst = std::min(worst, ratio);
      ++count;
    }
    EXPECT_GE(std::exp(logs / count), 0.97) << unit;
    EXPECT_GE(worst, 0.9) << unit;
  }
}

}  // namespace
}  // namespace tcc::test
