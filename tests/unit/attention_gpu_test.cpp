// Attention on GPUs: what attention_test.cpp runs on software devices, and the same in 16 bits, by
// whichever kernels are fastest there, and by those of the same templates with random configs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/random_attention.h"
#include "tests/random_configs.h"
#include "tests/unit/attention_cases.h"
#include "tests/unit/attention_lists.h"

namespace tcc {
namespace {

class AttentionOnGpu : public ::testing::TestWithParam<test::AttentionCase> {};

TEST_P(AttentionOnGpu, IsRight) {
  const ir::Graph graph = test::attention_graph(GetParam());
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  for (const std::string& device : test::devices_present(test::Devices::gpu)) {
    EXPECT_EQ(test::difference(graph, device, inputs, {}), "") << device;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const test::RandomConfigs configs(seed);
      backends::CompileOptions options;
      options.configs = &configs;
      EXPECT_EQ(test::difference(graph, device, inputs, options), "") << device << " " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionOnGpu, ::testing::ValuesIn(test::attention_cases()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(In16Bits, AttentionOnGpu,
                         ::testing::ValuesIn(test::attention_cases_of_16_bits()),
                         [](const auto& test) { return test.param.name; });

class AttentionListsOnGpu : public ::testing::TestWithParam<test::AttentionCase> {};

TEST_P(AttentionListsOnGpu, TilesAreSkipped) {
  for (const std::string& device : test::devices_present(test::Devices::gpu))
    EXPECT_EQ(test::check_lists(GetParam(), device, 6), "") << device;
}

std::vector<test::AttentionCase> attention_cases_of_all_lists() {
  std::vector<test::AttentionCase> cases;
  for (const char* dtype : {"f32", "bf16", "f16"})
    for (test::AttentionCase& c : test::attention_cases_of_lists(dtype))
      cases.push_back(std::move(c));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Lists, AttentionListsOnGpu,
                         ::testing::ValuesIn(attention_cases_of_all_lists()),
                         [](const auto& test) { return test.param.name; });

class AttentionInTf32OnGpu : public ::testing::TestWithParam<test::AttentionCase> {};

TEST_P(AttentionInTf32OnGpu, IsRight) {
  const ir::Graph graph = test::attention_graph(GetParam());
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  for (const std::string& device : test::devices_present(test::Devices::gpu)) {
    backends::CompileOptions options;
    options.matmul_precision = backends::MatmulPrecision::high;
    EXPECT_EQ(test::difference(graph, device, inputs, options), "") << device;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const test::RandomConfigs configs(seed);
      options.configs = &configs;
      EXPECT_EQ(test::difference(graph, device, inputs, options), "") << device << " " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InTf32, AttentionInTf32OnGpu,
                         ::testing::ValuesIn(test::attention_cases_of_tf32()),
                         [](const auto& test) { return test.param.name; });

TEST(RandomAttentionOnGpu, IsRightWhateverTheGraph) {
  test::check_random_attention(test::Devices::gpu, 60);
}

// On these matrix units alone, if any are named.
void check_open(const std::string& device, const char* unit,
                const std::vector<std::string>& templates, const test::DrawnTypes& types = {}) {
  const auto opened = test::open_once(device);
  sched::Target target = opened->target();
  if (*unit != 0) {
    if (!target.has_matrix_unit(unit)) GTEST_SKIP() << target.id() << " has no " << unit;
    target.matrix_units = exec::units_of_kinds(target.matrix_units, {unit});
  }
  test::check_random_open_attention(opened, target, 60, templates, types);
}

TEST(OpenAttentionOnGpu, IsRightWhateverTheGraph) {
  for (const std::string& device : test::devices_present(test::Devices::gpu))
    check_open(device, "", {"attention"});
}
TEST(OpenAttentionOnGpu, OnMmaAgreesWithTheReference) {
  check_open("cuda:0", "mma", {"attention_sm80"}, {.dtype = "bf16"});
}
TEST(OpenAttentionOnGpu, OnMmaInTf32AgreesWithTheReference) {
  check_open("cuda:0", "mma", {"attention_sm80"}, {.dtype = "f32", .tf32 = true});
}
TEST(OpenAttentionOnGpu, OnWgmmaAgreesWithTheReference) {
  check_open("cuda:0", "wgmma", {"attention_sm90"}, {.dtype = "bf16"});
}

TEST(OpenAttentionOnGpu, OnCooperativeMatricesAgreesWithTheReference) {
  std::vector<std::string> devices = test::devices_present(test::Devices::gpu);
  std::erase_if(devices, [](const std::string& device) {
    return !test::open_once(device)->target().has_matrix_unit("coopmat");
  });
  if (devices.empty()) GTEST_SKIP() << "no GPU has cooperative matrices";
  for (const std::string& device : devices)
    check_open(device, "coopmat", {"attention_coopmat"}, {.dtype = "bf16"});
}

using Sizes = std::map<std::string, int64_t, std::less<>>;

// Seconds of a run, by a program for numbers or by one whose dims may be open.
double seconds_of(const std::shared_ptr<const runtime::Program>& program, const ir::Graph& bound,
                  const Sizes& sizes) {
  runtime::Context context(program, nullptr, sizes);
  context.set_inputs(test::draw_inputs(bound, {.lo = -1, .hi = 1, .seed = 1}));
  double best = HUGE_VAL;
  for (int run = 0; run < 8; ++run) best = std::min(best, context.time_replay(25));
  return best;
}

// One program for lengths up to the last of these, against programs for each; what they take is
// printed.
void compare_lengths(const test::AttentionCase& c, const std::string& dim,
                     const std::vector<int64_t>& lengths,
                     std::optional<int64_t> usual = std::nullopt) {
  const auto device = test::open_once("cuda:0");
  const ir::Graph graph = test::attention_graph(c);
  const auto made = [&](const ir::Graph& of, const backends::CompileOptions& options) {
    return std::make_shared<const runtime::Program>(
        device, backends::compile(of, device->target(), options));
  };
  backends::CompileOptions options;
  options.open_dims[dim] = {.least = 1, .most = lengths.back()};
  if (usual) options.dims[dim] = *usual;
  const auto open = made(graph, options);
  const auto config = [](const runtime::Program& program) {
    std::string all;
    for (const exec::KernelBinary& kernel : program.executable().kernels)
      all += str(all.empty() ? "" : "; ", kernel.template_name, " ", kernel.config);
    return all;
  };
  std::printf("%s: %s\n", c.name.c_str(), config(*open).c_str());
  double logs = 0, worst = 1;
  for (const int64_t length : lengths) {
    const ir::Graph bound = graph.bind({{dim, length}});
    const auto fixed = made(bound, {});
    const double of_fixed = seconds_of(fixed, bound, {}),
                 of_open = seconds_of(open, bound, {{dim, length}}), ratio = of_fixed / of_open;
    std::printf("  %lld: fixed %.2f us, open %.2f us, %.3f (%s)\n", static_cast<long long>(length),
                of_fixed * 1e6, of_open * 1e6, ratio, config(*fixed).c_str());
    logs += std::log(ratio) / static_cast<double>(lengths.size());
    worst = std::min(worst, ratio);
  }
  std::printf("  geometric mean %.3f, worst %.3f\n", std::exp(logs), worst);
  std::fflush(stdout);
  EXPECT_GE(std::exp(logs), 0.97) << c.name;
  EXPECT_GE(worst, 0.9) << c.name;
}

// It needs an idle device: --gtest_also_run_disabled_tests runs it.
TEST(OpenAttentionOnGpu, DISABLED_IsAsFastAsThatOfNumbers) {
  const auto of_op = [](std::string name, const test::AttentionSizes& s, std::string_view dtype,
                        std::string_view attributes, std::string dims) {
    return test::AttentionCase{
        std::move(name), test::attention_inputs(s, dtype),
        str("  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]", attributes, "}\n"),
        "[a]", std::move(dims)};
  };
  for (const int64_t depth : {64, 128})
    compare_lengths(
        of_op(str("prompt, depth ", depth), {4, 16, 16, {512, "S"}, {512, "S"}, depth, depth},
              "bf16", ", is_causal: true", "S: 512"),
        "S", {128, 256, 512, 1024, 2048, 4096});
  for (const char* dtype : {"bf16", "f32"})
    compare_lengths(of_op(str("decode, ", dtype), {1, 32, 8, 1, {2048, "K"}, 128, 128}, dtype,
                          ", enable_gqa: true", "K: 2048"),
                    "K", {128, 512, 1024, 4096, 8192, 16384}, 8192);
}

}  // namespace
}  // namespace tcc
