// Attention of open batches, queries and keys as kernels of CUDA: which templates take it, how they
// divide it, and that kernels do not spill.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/compile/nvrtc.h"
#include "backends/device/common/attention_sm80_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

using Dims = std::map<std::string, ir::SizeRange, std::less<>>;

exec::Executable compiled(const ir::Graph& graph, const char* target, const Dims& dims,
                          const sched::ConfigSource* configs = nullptr) {
  backends::CompileOptions options;
  for (const auto& [name, range] : dims) options.open_dims[name] = range;
  options.binaries = backends::nvrtc_missing().empty();
  options.configs = configs;
  return backends::compile(graph, sched::target_by_name(target), options);
}

// Heads of batches, queries and keys that are open.
ir::Graph batched(std::string_view dtype, std::string_view attributes, int64_t depth = 64) {
  const test::AttentionSizes s = {{4, "B"}, 8, 8, {512, "Q"}, {700, "K"}, depth, depth};
  return test::attention_graph(
      {"open", test::attention_inputs(s, dtype),
       str("  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v]", attributes, "}\n"),
       "[a, l]", "B: 4, Q: 512, K: 700"});
}

const Dims kOpen = {{"B", {.least = 0, .most = 64}},
                    {"Q", {.least = 0, .most = 4096}},
                    {"K", {.least = 0, .most = 4096}}};

bool has_kernel_of(const exec::Executable& executable, std::string_view name) {
  return std::ranges::find(executable.kernels, name, &exec::KernelBinary::template_name) !=
         executable.kernels.end();
}

// A few words that are used once a tile may lie in local memory.
void expect_on_units(const char* target, const std::string& template_name, int64_t most_of_frame) {
  uint64_t opened = 0;  // sizes that kernels get as arguments
  const uint64_t seeds = test::draws(7u, 3u);
  for (uint64_t seed = 0; seed < seeds; ++seed)
    for (const char* attributes : {"", ", is_causal: true"}) {
      const test::RandomConfigs configs(seed);
      const exec::Executable executable = compiled(batched(seed % 2 ? "f16" : "bf16", attributes),
                                                   target, kOpen, seed > 0 ? &configs : nullptr);
      int on_units = 0;
      for (const exec::KernelBinary& kernel : executable.kernels) {
        if (kernel.template_name != template_name) continue;
        SCOPED_TRACE(str(target, ", seed ", seed, attributes, ": ", kernel.config));
        ++on_units;
        for (const char* size : {"SIZE_BATCHES", "SIZE_QUERIES", "SIZE_KEYS"})
          opened += kernel.source.find(str("#define ", size, " tcc_")) != std::string::npos;
        if (!kernel.code.empty()) { EXPECT_LE(test::frame_bytes(kernel.code), most_of_frame); }
      }
      EXPECT_GT(on_units, 0) << target << ", seed " << seed << attributes;
      // Nothing is launched where there are no queries.
      for (const int64_t size : {0, 1, 7, 1000})
        exec::check(executable, {{{"B", size % 60}, {"Q", size}, {"K", size / 2}}});
    }
  EXPECT_GE(opened,
            3 * 2 * seeds);  // kernels for narrow ranges have numbers where one size is left
}

TEST(OpenAttention, IsOnMmaOfCuda) { expect_on_units("cuda:sm_80", "attention_sm80", 64); }
TEST(OpenAttention, IsOnWgmmaOfCuda) { expect_on_units("cuda:sm_90a", "attention_sm90", 64); }

// Where all lengths of a range make one tile of queries, tiles and workgroups are numbers of a
// kernel whose queries are open.
TEST(OpenAttention, TakesRangesWithinATile) {
  for (const ir::SizeRange queries :
       {ir::SizeRange{.least = 33, .most = 64}, {.least = 100, .most = 120}})
    for (const char* attributes : {"", ", is_causal: true"}) {
      const exec::Executable executable =
          compiled(batched("bf16", attributes), "cuda:sm_90a", {{"Q", queries}});
      EXPECT_TRUE(has_kernel_of(executable, "attention_sm90"));
    }
}

TEST(OpenAttention, DefaultsDoNotSpill) {
  test::OneOf cases(3);
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    for (const int64_t depth : {64, 256})
      for (const char* attributes : {", is_causal: true", ", dropout_p: 0.1"}) {
        if (!cases.takes_next()) continue;
        const exec::Executable executable =
            compiled(batched("bf16", attributes, depth), target, kOpen);
        const exec::KernelBinary& kernel = executable.kernels.front();
        if (kernel.code.empty()) GTEST_SKIP() << "there is no NVRTC";
        EXPECT_LE(test::frame_bytes(kernel.code), 16)
            << target << " " << depth << attributes << ": " << kernel.config;
      }
}

// Sizes that are numbers are constants of the kernel.
TEST(OpenAttention, LeavesNumbersToTheCompiler) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const test::AttentionSizes s = {4, 8, 8, 512, {700, "K"}, 64, 64};
    const ir::Graph graph = test::attention_graph(
        {"open", test::attention_inputs(s, "bf16"), test::kOp, "[a]", "K: 700"});
    const exec::Executable executable = compiled(graph, target, {{"K", {.least = 1, .most = 900}}});
    const std::string& source = executable.kernels.front().source;
    EXPECT_NE(source.find("p.queries = 512;"), source.npos) << target;
    EXPECT_NE(source.find("p.keys = 0;"), source.npos) << target;
    EXPECT_EQ(source.find("#define SIZE_QUERIES tcc_"), source.npos) << target;
  }
}

// Rows of a batch that is open and inside of them: how far apart they are comes at run time.
TEST(OpenAttention, ReadsRowsOfOpenStrides) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: open\ndims: {B: 4, S: 512}\n"
      "inputs: {q: {dtype: bf16, shape: [S, B, 8, 64]}, k: {dtype: bf16, shape: [S, B, 8, 64]},\n"
      "  v: {dtype: bf16, shape: [S, B, 8, 64]}}\n"
      "nodes:\n"
      "  - {out: q1, op: permute, in: [q], dims: [1, 2, 0, 3]}\n"
      "  - {out: k1, op: permute, in: [k], dims: [1, 2, 0, 3]}\n"
      "  - {out: v1, op: permute, in: [v], dims: [1, 2, 0, 3]}\n"
      "  - {out: a, op: scaled_dot_product_attention, in: [q1, k1, v1]}\n"
      "outputs: [a]\n",
      "open.yaml", ".");
  const Dims dims = {{"B", {.least = 1, .most = 64}}, {"S", {.least = 1, .most = 4096}}};
  const exec::KernelBinary mma = compiled(graph, "cuda:sm_80", dims).kernels.front();
  EXPECT_EQ(mma.template_name, "attention_sm80");
  EXPECT_NE(mma.source.find("p.k.apart = true;"), std::string::npos);
  EXPECT_NE(mma.source.find("p.k.vector = 8;"), std::string::npos);
  EXPECT_TRUE(has_kernel_of(compiled(graph, "cuda:sm_90a", dims), "attention_sm90"));
}

// A token's attention to all before it: workgroups share the keys, whose number grows.
TEST(OpenAttention, SplitsKeysOfAGrowingCache) {
  const auto decoder = [](const char* dtype) {
    std::string text =
        "tcc: 1\nname: decoder\ndims: {P: 64}\n"
        "inputs: {q: {dtype: T, shape: [1, 32, 1, 128]}, k: {dtype: T, shape: [1, 8, 1, 128]},\n"
        "  v: {dtype: T, shape: [1, 8, 1, 128]}}\n"
        "states: {keys: {dtype: T, shape: [1, 8, P + 1, 128]},\n"
        "  values: {dtype: T, shape: [1, 8, P + 1, 128]}}\n"
        "nodes:\n"
        "  - {out: k2, op: append, in: [keys, k], dim: 2, length: P}\n"
        "  - {out: v2, op: append, in: [values, v], dim: 2, length: P}\n"
        "  - {out: kn, op: slice, in: [k2], dim: 2, start: 0, end: P + 1}\n"
        "  - {out: vn, op: slice, in: [v2], dim: 2, start: 0, end: P + 1}\n"
        "  - {out: y, op: scaled_dot_product_attention, in: [q, kn, vn], enable_gqa: true}\n"
        "outputs: [y]\n";
    for (size_t at = 0; (at = text.find("dtype: T", at)) != text.npos;)
      text.replace(at, 8, str("dtype: ", dtype));
    return parse_yaml_graph(text, "decoder.yaml", ".");
  };
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    for (const char* dtype : {"bf16", "f32"}) {
      const exec::Executable executable =
          compiled(decoder(dtype), target, {{"P", {.least = 0, .most = 8191}}});
      const std::string name = str(dtype) == "f32" ? "attention" : "attention_sm80";
      // Short caches have kernels of their own, which need not split.
      const auto splits = [](const exec::KernelBinary& kernel, const std::string& parameter) {
        return kernel.config.find(parameter + "=") != std::string::npos &&
               kernel.config.find(parameter + "=1 ") == std::string::npos;
      };
      EXPECT_TRUE(std::ranges::any_of(executable.kernels,
                                      [&](const exec::KernelBinary& kernel) {
                                        return kernel.template_name == name &&
                                               (splits(kernel, "split_keys") ||
                                                splits(kernel, "cluster"));
                                      }))
          << target << dtype;
      for (const int64_t length : {0, 1, 100, 8191}) exec::check(executable, {{{"P", length}}});
    }
}

// Any row of a tile may exist where the number of queries is open: all have room in what is sent.
TEST(OpenAttention, ClustersHaveRoomForTheRowsOfATile) {
  kernels::AttentionSm80 a;
  a.block_q = 16;
  a.block_k = 64;
  a.warps_q = 1;
  a.warps_k = 4;
  a.stages = 3;
  a.cluster = 8;
  const sched::FixedConfig configs({{"block_q", 16},
                                    {"block_k", 64},
                                    {"warps_q", 1},
                                    {"warps_k", 4},
                                    {"stages", 3},
                                    {"split_keys", 1},
                                    {"cluster", 8}});
  for (const bool is_open : {false, true}) {
    const test::AttentionSizes s = {
        1, 8, 8, is_open ? test::Extent(4, "Q") : test::Extent(2), {2000, "K"}, 64, 64};
    Dims dims = {{"K", {.least = 1, .most = 4096}}};
    if (is_open) dims["Q"] = {.least = 1, .most = 16};
    const exec::Executable executable = compiled(
        test::attention_graph({"open", test::attention_inputs(s, "bf16"),
                               "  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]}\n",
                               "[a]", is_open ? "Q: 4, K: 2000" : "K: 2000"}),
        "cuda:sm_90a", dims, &configs);
    a.sent_rows = is_open ? 16 : 2;
    int clusters = 0;
    for (const exec::KernelBinary& kernel : executable.kernels) {
      if (kernel.config.find("block_k=64 block_q=16 cluster=8") == std::string::npos) continue;
      ++clusters;
      EXPECT_EQ(kernel.shared_bytes, kernels::attention_sm80::shared_bytes(a)) << kernel.config;
      EXPECT_NE(kernel.source.find(str("p.sent_rows = ", a.sent_rows, ";")), std::string::npos);
    }
    EXPECT_GE(clusters, 1);
  }
}

}  // namespace
}  // namespace tcc
