// Random attention on the cooperative matrices of Vulkan, with default and random configs, against
// the reference. It needs a device that has such units, as current versions of lavapipe do, and a
// GLSL compiler that knows them.
#include <gtest/gtest.h>

#include <limits>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/source_compiler.h"
#include "tests/random_attention.h"
#include "tests/random_configs.h"

namespace tcc::test {
namespace {

// The first Vulkan device with units that multiply the type; "": there is none.
std::string device_for(DType dtype) {
  ::setenv("TCC_MATRIX_UNITS", "coopmat,coopmat_mma", 1);  // of software devices, too
  for (int number = 0; number < 8; ++number) try {
      const std::string name = str("vulkan:", number);
      if (open_once(name)->target().multiplies("coopmat", dtype, dtype, DType::f32)) return name;
    } catch (const Error&) { break; }
  return "";
}

// Why attention of the type cannot run on matrix units here, or "".
std::string lacking(DType dtype, const char* extension) {
  if (device_for(dtype).empty())
    return str("no Vulkan device has cooperative matrices of ", name(dtype));
  return sched::lacking_extension(sched::Api::vulkan, extension);
}

// Whether a kernel of the graph is the template's.
bool is_used(const ir::Graph& graph, const std::string& device,
             backends::CompileOptions options = {}) {
  options.binaries = false;
  const exec::Executable made = backends::compile(graph, open_once(device)->target(), options);
  return std::ranges::any_of(made.kernels, [](const exec::KernelBinary& kernel) {
    return kernel.template_name == "attention_coopmat";
  });
}

void check_random(DType dtype, const char* extension) {
  if (const std::string why = lacking(dtype, extension); !why.empty()) GTEST_SKIP() << why;
  const std::string device = device_for(dtype);
  const auto first = static_cast<uint64_t>(number_from("TCC_ATTENTION_SEED", 1));
  const auto count = static_cast<uint64_t>(draws("TCC_ATTENTION_COUNT", 4));
  int64_t used = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const AttentionCase c = AttentionDraw(seed).draw(std::string(name(dtype)));
    const ir::Graph graph = attention_graph(c);
    const std::vector<Tensor> inputs = draw_inputs(graph, {});
    const RandomConfigs configs(seed);
    for (const sched::ConfigSource* source :
         std::initializer_list<const sched::ConfigSource*>{nullptr, &configs}) {
      backends::CompileOptions options;
      options.configs = source;
      used += is_used(graph, device, options) ? 1 : 0;
      EXPECT_EQ(difference(graph, device, inputs, options), "")
          << device << " seed " << seed << (source ? " random config" : "") << "\n"
          << c.inputs << c.nodes;
    }
  }
  EXPECT_GT(used, 0) << "no attention is on the units";
}

constexpr const char* kMatrices = "GL_KHR_cooperative_matrix";

TEST(CooperativeAttention, RandomOfF16AgreesWithTheReference) {
  check_random(DType::f16, kMatrices);
}
TEST(CooperativeAttention, RandomOfBf16AgreesWithTheReference) {
  check_random(DType::bf16, "GL_EXT_bfloat16");
}

void check_random_open(DType dtype, const char* extension) {
  if (const std::string why = lacking(dtype, extension); !why.empty()) GTEST_SKIP() << why;
  const auto device = open_once(device_for(dtype));
  check_random_open_attention(device, device->target(), 12, {"attention_coopmat"},
                              {.dtype = std::string(name(dtype))});
}

TEST(CooperativeAttention, OpenSizesOfF16AgreeWithTheReference) {
  check_random_open(DType::f16, kMatrices);
}
TEST(CooperativeAttention, OpenSizesOfBf16AgreeWithTheReference) {
  check_random_open(DType::bf16, "GL_EXT_bfloat16");
}

// The config of the first kernel of a graph.
std::string config_of(const ir::Graph& graph, const std::string& device,
                      backends::CompileOptions options) {
  options.binaries = false;
  return backends::compile(graph, open_once(device)->target(), options).kernels.front().config;
}

// Whatever subgroups share, and wherever queries stay.
TEST(CooperativeAttention, RandomConfigsAgreeWithTheReference) {
  if (const std::string why = lacking(DType::f16, kMatrices); !why.empty()) GTEST_SKIP() << why;
  const std::string device = device_for(DType::f16);
  const AttentionSizes sizes = {1, 2, 1, 31, 77, 24, 40};
  for (const char* attributes : {"", ", is_causal: true, safe_softmax: true"}) {
    const ir::Graph graph = attention_graph(sized(sizes, "f16", attributes));
    const std::vector<Tensor> inputs = draw_inputs(graph, {});
    const auto count = static_cast<uint64_t>(draws("TCC_ATTENTION_COUNT", 6));
    for (uint64_t seed = 1; seed <= count; ++seed) {
      const RandomConfigs configs(seed);
      backends::CompileOptions options;
      options.configs = &configs;
      EXPECT_EQ(difference(graph, device, inputs, options), "")
          << seed << ": " << config_of(graph, device, options);
    }
  }
}

// Slots take turns, whether tiles are odd or even in number.
TEST(CooperativeAttention, StagesAgreeWithTheReference) {
  if (const std::string why = lacking(DType::f16, kMatrices); !why.empty()) GTEST_SKIP() << why;
  const std::string device = device_for(DType::f16);
  for (const int64_t stages : {1, 2})
    for (const int64_t keys : {16, 32, 40, 57}) {
      const ir::Graph graph = attention_graph(
          sized({1, 2, 2, 33, keys, 16, 24}, "f16", keys == 57 ? ", is_causal: true" : ""));
      const RandomConfigs configs(
          keys, {{"stages", stages}, {"block_k", 16}, {"split_keys", 1}, {"block_q", 16}});
      backends::CompileOptions options;
      options.configs = &configs;
      const std::string config = config_of(graph, device, options);
      EXPECT_NE(config.find(str("stages=", stages)), std::string::npos) << config;
      EXPECT_EQ(difference(graph, device, draw_inputs(graph, {}), options), "") << config;
    }
}

// As on devices whose sums of matrices become no operands.
TEST(CooperativeAttention, WeightsThroughMemoryAgreeWithTheReference) {
  if (const std::string why = lacking(DType::f16, kMatrices); !why.empty()) GTEST_SKIP() << why;
  const std::shared_ptr<runtime::Device> device = open_once(device_for(DType::f16));
  sched::Target target = device->target();
  target.matrix_conversions = false;
  const ir::Graph graph = attention_graph(sized({1, 2, 2, 33, 57, 16, 24}, "f16", ""));
  const std::vector<Tensor> inputs = draw_inputs(graph, {});
  for (const int64_t stages : {1, 2}) {
    const RandomConfigs configs(1, {{"stages", stages}, {"block_k", 16}, {"split_keys", 1}});
    backends::CompileOptions options;
    options.configs = &configs;
    runtime::Context context(std::make_shared<const runtime::Program>(
        device, backends::compile(graph, target, options)));
    EXPECT_EQ(compare_with_reference(graph, inputs, context.run(inputs)), "") << stages;
  }
}

// Rows whose scores are all far below zero, also those that see no key of the first tiles, have
// weights that are relative to their own greatest.
TEST(CooperativeAttention, LowScoresHaveWeights) {
  if (const std::string why = lacking(DType::f16, kMatrices); !why.empty()) GTEST_SKIP() << why;
  const std::string device = device_for(DType::f16);
  const AttentionSizes sizes = {1, 1, 1, 100, 100, 16, 16};
  const ir::Graph graph = attention_graph(sized(sizes, "f16", ", is_causal: true"));
  std::vector<Tensor> inputs = draw_inputs(graph, {});
  for (int64_t at = 0; at < sizes.queries * sizes.depth; ++at) {
    inputs[0].set(at, 16.0);
    inputs[1].set(at, -40.0 + inputs[1].get(at));
  }
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const RandomConfigs configs(seed);
    backends::CompileOptions options;
    if (seed > 0) options.configs = &configs;
    EXPECT_EQ(difference(graph, device, inputs, options), "") << seed;
  }
}

// Scores that grow by more than 16-bit weights hold, from the last key to the first, and a NaN and
// infinities among them.
TEST(CooperativeAttention, RescalesAndKeepsSpecialScores) {
  if (const std::string why = lacking(DType::f16, kMatrices); !why.empty()) GTEST_SKIP() << why;
  const std::string device = device_for(DType::f16);
  const AttentionSizes sizes = {1, 2, 2, 40, 200, 16, 24};
  const AttentionCase c = {"growing", attention_inputs(sizes, "f16"),
                           "  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v]}\n",
                           "[a, l]"};
  const ir::Graph graph = attention_graph(c);
  std::vector<Tensor> inputs = draw_inputs(graph, {});
  // Head 0: keys grow towards the first. Head 1 has an infinite and a NaN query.
  for (int64_t key = 0; key < sizes.keys; ++key)
    for (int64_t d = 0; d < sizes.depth; ++d) {
      const int64_t at = key * sizes.depth + d;
      inputs[1].set(at, inputs[1].get(at) * static_cast<double>(sizes.keys - key) / 8);
    }
  const int64_t head = sizes.queries * sizes.depth;
  inputs[0].set(head + 3 * sizes.depth, std::numeric_limits<double>::infinity());
  inputs[0].set(head + 5 * sizes.depth, std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(is_used(graph, device));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const RandomConfigs configs(seed);
    backends::CompileOptions options;
    if (seed > 0) options.configs = &configs;
    EXPECT_EQ(difference(graph, device, inputs, options), "") << seed;
  }
}

}  // namespace
}  // namespace tcc::test
