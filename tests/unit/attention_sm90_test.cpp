// Attention on wgmma: which regions it takes, how it walks them, and that kernels do not spill.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/compile/nvrtc.h"
#include "backends/device/common/attention_sm90_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/source_dir.h"
#include "tests/unit/attention_cases.h"
#include "tests/unit/attention_lists.h"

#include "tcc/log.hpp"

namespace tcc {
namespace {

// One head of one image: queries, keys, depth, depth of values.
std::string graph_of(int64_t queries, int64_t keys, int64_t depth, int64_t depth_v,
                     std::string_view dtype, std::string_view attributes = "") {
  const auto input = [&](std::string_view name, int64_t rows, int64_t columns) {
    return str("  ", name, ": {dtype: ", dtype, ", shape: [2, 16, ", rows, ", ", columns, "]}\n");
  };
  return str("tcc: 1\nname: attention\ninputs:\n", input("q", queries, depth),
             input("k", keys, depth), input("v", keys, depth_v),
             "nodes:\n  - {out: a, op: scaled_dot_product_attention, in: [q, k, v]", attributes,
             "}\noutputs: [a]\n");
}

exec::Executable compiled(const std::string& text, const std::string& target, bool binaries) {
  backends::CompileOptions options;
  options.binaries = binaries;
  return backends::compile(parse_yaml_graph(text, "attention.yaml", "."),
                           sched::target_by_name(target), options);
}

std::string template_of(const std::string& text, const std::string& target = "cuda:sm_90a") {
  const exec::Executable executable = compiled(text, target, false);
  return executable.kernels.size() == 1 ? executable.kernels.front().template_name
                                        : str(executable.kernels.size(), " kernels");
}

TEST(AttentionSm90, TakesRowsOfWhole16Bytes) {
  EXPECT_EQ(template_of(graph_of(512, 512, 64, 64, "bf16")), "attention_sm90");
  EXPECT_EQ(template_of(graph_of(197, 333, 80, 72, "f16")), "attention_sm90");
  EXPECT_EQ(template_of(graph_of(512, 512, 256, 256, "bf16")), "attention_sm90");
  EXPECT_NE(template_of(graph_of(512, 512, 68, 64, "bf16")), "attention_sm90");
  EXPECT_NE(template_of(graph_of(512, 512, 64, 64, "f32")), "attention_sm90");
  EXPECT_NE(template_of(graph_of(512, 512, 64, 64, "bf16"), "cuda:sm_80"), "attention_sm90");
}

// A caller's tensors may begin anywhere: the runtime brings those to aligned places that the kernel
// says it needs so, as tensor maps do.
TEST(AttentionSm90, AsksForAlignedOperands) {
  const exec::Executable executable =
      compiled(graph_of(512, 512, 64, 64, "bf16"), "cuda:sm_90a", false);
  ASSERT_EQ(executable.kernels.size(), 1u);
  EXPECT_GE(std::ranges::count(executable.kernels[0].alignments, 16), 3);
}

// Whether a kernel of the graph is attention_sm90's, where keys are made of others by `nodes`.
bool is_on_wgmma(int64_t length, const std::string& nodes) {
  std::string text = graph_of(length, length, 128, 128, "bf16");
  text.replace(text.find("  k: "), 5, "  k0: ");
  text.replace(text.find("nodes:\n"), 7, "nodes:\n" + nodes);
  return std::ranges::any_of(compiled(text, "cuda:sm_90a", false).kernels, [](const auto& kernel) {
    return kernel.template_name == "attention_sm90";
  });
}

// Keys that another kernel writes lie in rows, though the product reads them transposed: here
// rotated by positions, as a cat of halves and by two products.
TEST(AttentionSm90, GetsComputedKeysInRows) {
  const std::string rotated =
      "  - {out: h0, op: slice, in: [k0], dim: -1, start: 0, end: 64}\n"
      "  - {out: h1, op: slice, in: [k0], dim: -1, start: 64, end: 128}\n"
      "  - {out: n1, op: neg, in: [h1]}\n  - {out: r, op: cat, in: [n1, h0], dim: -1}\n"
      "  - {out: s, op: sin, in: [r]}\n  - {out: k, op: add, in: [k0, s]}\n";
  EXPECT_TRUE(is_on_wgmma(2048, rotated));
  EXPECT_TRUE(is_on_wgmma(512, rotated));
}

// Operands are computed in a kernel before it where that is faster than to compute them in another
// kernel of attention.
TEST(AttentionSm90, StaysOnWgmmaBehindPointwiseOps) {
  const std::string relu = "  - {out: k, op: relu, in: [k0]}\n";
  EXPECT_TRUE(is_on_wgmma(4096, relu));
  EXPECT_FALSE(is_on_wgmma(64, relu));
}

// Queries are computed by the workgroups that have them, once: no kernel stores them. Keys would be
// computed once per tile of queries.
TEST(AttentionSm90, ComputesQueries) {
  // `rotation` makes r of x.
  const auto compiled_with = [](std::string rotation, const std::string& of, int64_t rotated) {
    for (size_t at = 0; (at = rotation.find('@', at)) != rotation.npos;)
      rotation.replace(at, 1, of);
    std::string text = graph_of(2048, 2048, 128, 128, "bf16", ", is_causal: true");
    text.replace(text.find(str("  ", of, ": ")), 5, str("  ", of, "0: "));
    text.replace(text.find("nodes:\n"), 7,
                 str("  cos: {dtype: bf16, shape: [2048, ", rotated, "]}\n",
                     "  sin: {dtype: bf16, shape: [2048, ", rotated, "]}\nnodes:\n", rotation));
    return compiled(text, "cuda:sm_90a", false);
  };
  const std::string halves =
      "  - {out: h0, op: slice, in: [@0], dim: -1, start: 0, end: 64}\n"
      "  - {out: h1, op: slice, in: [@0], dim: -1, start: 64, end: 128}\n"
      "  - {out: n1, op: neg, in: [h1]}\n  - {out: r, op: cat, in: [n1, h0], dim: -1}\n"
      "  - {out: x, op: mul, in: [@0, cos]}\n  - {out: y, op: mul, in: [r, sin]}\n";
  const std::string pairs =
      "  - {out: p, op: reshape, in: [@0], shape: [2, 16, 2048, 64, 2]}\n"
      "  - {out: h0, op: slice, in: [p], dim: -1, start: 0, end: 1}\n"
      "  - {out: h1, op: slice, in: [p], dim: -1, start: 1, end: 2}\n"
      "  - {out: n1, op: neg, in: [h1]}\n  - {out: r2, op: cat, in: [n1, h0], dim: -1}\n"
      "  - {out: r, op: reshape, in: [r2], shape: [2, 16, 2048, 128]}\n"
      "  - {out: x, op: mul, in: [@0, cos]}\n  - {out: y, op: mul, in: [r, sin]}\n";
  const std::string part =
      "  - {out: p, op: slice, in: [@0], dim: -1, start: 0, end: 32}\n"
      "  - {out: t, op: slice, in: [@0], dim: -1, start: 32, end: 128}\n"
      "  - {out: h0, op: slice, in: [p], dim: -1, start: 0, end: 16}\n"
      "  - {out: h1, op: slice, in: [p], dim: -1, start: 16, end: 32}\n"
      "  - {out: n1, op: neg, in: [h1]}\n  - {out: r, op: cat, in: [n1, h0], dim: -1}\n"
      "  - {out: x, op: mul, in: [p, cos]}\n  - {out: y, op: mul, in: [r, sin]}\n"
      "  - {out: z, op: add, in: [y, x]}\n  - {out: @, op: cat, in: [z, t], dim: -1}\n";
  const std::string sum = "  - {out: @, op: add, in: [x, y]}\n",
                    turned = "  - {out: @, op: add, in: [y, x]}\n";
  const std::pair<std::string, int64_t> rotations[] = {
      {halves + sum, 128}, {halves + turned, 128}, {pairs + turned, 128}, {part, 32}};
  for (const auto& [rotation, rotated] : rotations) {
    const exec::Executable queries = compiled_with(rotation, "q", rotated);
    ASSERT_EQ(queries.kernels.size(), 1U) << rotation;
    EXPECT_EQ(queries.kernels[0].template_name, "attention_sm90");
    EXPECT_NE(queries.kernels[0].source.find("p.q_vector = 8;"), std::string::npos) << rotation;
    // All parts are read as whole vectors.
    EXPECT_EQ(queries.kernels[0].source.find("tcc_bf16_to_f32(u32(b"), std::string::npos)
        << rotation;
    const exec::Executable keys = compiled_with(rotation, "k", rotated);
    ASSERT_EQ(keys.kernels.size(), 2U) << rotation;
    EXPECT_EQ(keys.kernels[1].template_name, "attention_sm90");
    EXPECT_NE(keys.kernels[1].source.find("p.q_vector = 0;"), std::string::npos);
  }
}

// Hooks of many instructions are called in a loop, so that kernels compile in a second and fit into
// the cache of instructions; short ones are unrolled.
TEST(AttentionSm90, CallsLongHooksInRounds) {
  const auto source_of = [](const std::string& op) {
    std::string text = graph_of(1024, 1024, 128, 128, "bf16");
    text.replace(text.find("  - {out: a,"), std::string::npos,
                 "  - {out: kt, op: transpose, in: [k], dim0: -2, dim1: -1}\n"
                 "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: x, op: " +
                     op +
                     ", in: [s]}\n  - {out: p, op: softmax, in: [x], dim: -1}\n"
                     "  - {out: a, op: matmul, in: [p, v]}\noutputs: [a]\n");
    return compiled(text, "cuda:sm_90a", false).kernels.at(0).source;
  };
  EXPECT_NE(source_of("sin").find("p.score_rounds = 8;"), std::string::npos);
  EXPECT_NE(source_of("erf").find("p.score_rounds = 2;"), std::string::npos);
  EXPECT_NE(source_of("exp").find("p.score_rounds = 1;"), std::string::npos);
  EXPECT_NE(source_of("tanh").find("p.score_rounds = 1;"), std::string::npos);
  const auto dropped =
      compiled(graph_of(1024, 1024, 128, 128, "bf16", ", dropout_p: 0.1"), "cuda:sm_90a", false);
  EXPECT_NE(dropped.kernels.at(0).source.find("p.weight_rounds = 4;"), std::string::npos);
}

// Scores of keys at a mask's edge read the mask and a bias, those inside it the bias alone: the
// words of both lie in one array.
TEST(AttentionSm90, ScoresOfBothKindsReadTheSameWords) {
  if (!backends::nvrtc_missing().empty()) GTEST_SKIP() << backends::nvrtc_missing();
  for (const test::AttentionCase& c : test::attention_cases_of_16_bits()) {
    if (c.name != "bf16_long_score") continue;
    const exec::Executable executable =
        backends::compile(test::attention_graph(c), sched::target_by_name("cuda:sm_90a"), {});
    const auto reads = [](const std::string& words) {
      return [&words](const exec::KernelBinary& kernel) {
        return kernel.source.find(words) != std::string::npos;
      };
    };
    EXPECT_TRUE(std::ranges::any_of(executable.kernels, reads("p.held = 2;")));
    EXPECT_TRUE(std::ranges::any_of(executable.kernels, reads("p.held_inside = 1;")));
    return;
  }
  FAIL() << "there is no such case";
}

// Keys of 8 bits are converted once where many tiles of queries would convert them, else by the
// kernel that reads them.
TEST(AttentionSm90, ConvertsKeysOf8BitsWhereThatIsFaster) {
  const auto templates_of = [](int64_t queries, const std::string& also) {
    std::string text = graph_of(queries, 4096, 128, 128, "bf16");
    for (const std::string name : {"k", "v"})
      text.replace(text.find(str("  ", name, ": {dtype: bf16")), 17,
                   str("  ", name, "8: {dtype: f8e4m3"));
    text.replace(text.find("nodes:\n"), 7,
                 "nodes:\n  - {out: k, op: cast, in: [k8], dtype: bf16}\n"
                 "  - {out: v, op: cast, in: [v8], dtype: bf16}\n");
    text.replace(text.find("outputs: [a]"), std::string::npos, also);
    std::string templates;
    for (const exec::KernelBinary& kernel : compiled(text, "cuda:sm_90a", false).kernels)
      templates += kernel.template_name + " ";
    return templates;
  };
  EXPECT_EQ(templates_of(4096, "outputs: [a]\n"), "pointwise pointwise attention_sm90 ");
  EXPECT_EQ(templates_of(1, "outputs: [a]\n"), "attention_sm80 ");
  // Others read what was converted.
  EXPECT_EQ(templates_of(4096, "  - {out: m, op: relu, in: [v]}\noutputs: [a, m]\n"),
            "pointwise pointwise attention_sm90 ");
}

// A kernel ahead lists which tiles a mask empties, where that takes little time beside attention:
// not of masks that each head has of its own, nor of numbers that are added, which may be no mask.
TEST(AttentionSm90, ListsTilesThatMasksEmpty) {
  const auto kernels_of = [](const std::string& mask, const std::string& masked, bool lists,
                             const std::string& target = "cuda:sm_90a") {
    std::string text = graph_of(4096, 4096, 128, 128, "bf16");
    text.replace(text.find("nodes:\n"), std::string::npos,
                 "  m: {" + mask +
                     "}\nnodes:\n  - {out: kt, op: transpose, in: [k], dim0: -2, dim1: -1}\n"
                     "  - {out: s, op: matmul, in: [q, kt]}\n" +
                     masked +
                     "  - {out: p, op: softmax, in: [x], dim: -1}\n"
                     "  - {out: a, op: matmul, in: [p, v]}\noutputs: [a]\n");
    const test::ConfigsWith configs("lists", 1, 1);
    backends::CompileOptions options;
    options.binaries = false;
    if (lists) options.configs = &configs;
    return backends::compile(parse_yaml_graph(text, "masked.yaml", "."),
                             sched::target_by_name(target), options)
        .kernels;
  };
  const std::string where = "  - {out: x, op: where, in: [m, s, -.inf]}\n";
  const std::string mask = "dtype: bool, shape: [2, 1, 4096, 4096]";
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80"}) {
    const auto listed = kernels_of(mask, where, true, target);
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_NE(listed[1].source.find("p.lists = true;"), std::string::npos);
    EXPECT_EQ(kernels_of(mask, where, false, target).size(), 2U);
    EXPECT_EQ(kernels_of("dtype: bool, shape: [2, 16, 4096, 4096]", where, false, target).size(),
              1U);
  }
  const std::string added = "  - {out: x, op: add, in: [s, m]}\n";
  EXPECT_EQ(kernels_of("dtype: bf16, shape: [4096, 4096]", added, true).size(), 2U);
  EXPECT_EQ(kernels_of("dtype: bf16, shape: [4096, 4096]", added, false).size(), 1U);
}

// Tiles of a causal mask differ in length: the last come first. Others are walked head by head.
TEST(AttentionSm90, OrdersTilesByLength) {
  const auto source_of = [](std::string_view attributes) {
    return compiled(graph_of(4096, 4096, 128, 128, "bf16", attributes), "cuda:sm_90a", false)
        .kernels.front()
        .source;
  };
  EXPECT_NE(source_of(", is_causal: true").find("p.orders = true;"), std::string::npos);
  const std::string whole = source_of("");
  EXPECT_NE(whole.find("p.orders = false;"), std::string::npos);
  EXPECT_NE(whole.find("p.heads = 1;"), std::string::npos);
}

TEST(AttentionSm90, SplitsKeysOfFewQueries) {
  const auto kernels = [](int64_t queries) {
    std::string text = graph_of(queries, 16384, 128, 128, "bf16");
    for (size_t at = 0; (at = text.find("[2, 16, ", at)) != text.npos;)
      text.replace(at, 8, "[1, 8, ");
    return compiled(text, "cuda:sm_90a", false).kernels;
  };
  const auto few = kernels(64);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0].template_name, "attention_sm90");
  EXPECT_EQ(few[0].source.find("p.parts = 1;"), std::string::npos);
  EXPECT_EQ(kernels(4096).size(), 1U);
}

// One of a head, and few of heads that share keys, which are rows of one tile in another kernel.
TEST(AttentionSm90, LeavesFewQueries) {
  EXPECT_EQ(compiled(graph_of(1, 4096, 128, 128, "bf16"), "cuda:sm_90a", false)
                .kernels.front()
                .template_name,
            "attention_sm80");
  const auto shared = [](int64_t queries) {
    std::string text = graph_of(queries, 4096, 128, 128, "bf16", ", enable_gqa: true");
    for (const char* name : {"  k: ", "  v: "})
      text.replace(text.find("[2, 16, ", text.find(name)), 8, "[2, 4, ");
    return compiled(text, "cuda:sm_90a", false).kernels.front().template_name;
  };
  EXPECT_EQ(shared(4), "attention_sm80");
  EXPECT_EQ(shared(512), "attention_sm90");
}

TEST(AttentionSm90, ScoresNeedNoExactTanh) {
  const auto source_of = [](const std::string& after) {
    const std::string text =
        str("tcc: 1\nname: attention\ninputs:\n  q: {dtype: bf16, shape: [16, 512, 64]}\n"
            "  k: {dtype: bf16, shape: [16, 512, 64]}\n  v: {dtype: bf16, shape: [16, 512, 64]}\n"
            "nodes:\n  - {out: kt, op: transpose, in: [k], dim0: 1, dim1: 2}\n"
            "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: c, op: div, in: [s, 30.0]}\n"
            "  - {out: t, op: tanh, in: [c]}\n  - {out: x, op: mul, in: [t, 30.0]}\n"
            "  - {out: p, op: softmax, in: [x], dim: -1}\n  - {out: a, op: matmul, in: [p, v]}\n",
            after);
    return compiled(text, "cuda:sm_90a", false).kernels.front().source;
  };
  const std::string define = "#define tcc_tanh_f32 tcc_cuda_tanh_f32";
  EXPECT_NE(source_of("outputs: [a]\n").find(define), std::string::npos);
  const std::string stored = source_of("  - {out: b, op: tanh, in: [a]}\noutputs: [b]\n");
  EXPECT_NE(stored.find("attention"), std::string::npos);
  EXPECT_EQ(stored.find(define), std::string::npos);
}

// At depth 256 some words that are used once a tile of queries may lie in local memory.
TEST(AttentionSm90, DefaultsDoNotSpill) {
  for (const int64_t depth : {64, 128, 256})
    for (const std::string_view attributes : {"", ", is_causal: true"}) {
      const exec::Executable executable =
          compiled(graph_of(4096, 4096, depth, depth, "bf16", attributes), "cuda:sm_90a", true);
      ASSERT_EQ(executable.kernels.size(), 1U);
      EXPECT_LE(test::frame_bytes(executable.kernels.front().code), depth == 256 ? 128 : 0)
          << depth << attributes << " " << executable.kernels.front().config;
    }
}

// Returns what the assembler says of products that wait for each other, or "".
std::string serialized(const exec::KernelBinary& kernel) {
  std::string said;
  set_log_hook([&](LogLevel, std::string_view, std::string_view text) {
    if (text.find("serialized") != text.npos) said = text;
  });
  backends::compile_cuda(kernel.source, "attention", "sm_90a");
  set_log_hook({});
  return said;
}

// Loops of one turn, whose number is known, are loops all the same.
TEST(AttentionSm90, ProductsOfFewTilesDoNotWaitForEachOther) {
  for (const int64_t keys : {128, 192, 256, 320})
    for (const int64_t depth : {64, 128}) {
      const exec::KernelBinary kernel =
          compiled(graph_of(512, keys, depth, depth, "bf16"), "cuda:sm_90a", false).kernels.front();
      ASSERT_EQ(kernel.template_name, "attention_sm90");
      EXPECT_EQ(serialized(kernel), "") << keys << " " << depth << " " << kernel.config;
    }
}

// A benchmark's graph at some depth.
exec::Executable executable_of_case(const std::string& name,
                                    const backends::CompileOptions& options) {
  const std::filesystem::path path =
      testing::source_dir() / "bench/cases" / str("attention-", name, ".yaml");
  return backends::compile(load_graph(path), sched::target_by_name("cuda:sm_90a"), options);
}

exec::KernelBinary kernel_of_case(const std::string& name, int64_t depth, bool binaries) {
  backends::CompileOptions options;
  options.binaries = binaries;
  options.dims = {{"D", depth}};
  const exec::Executable executable = executable_of_case(name, options);
  // Behind a list of tiles, if there is one.
  EXPECT_LE(executable.kernels.size(), 2U) << name;
  EXPECT_EQ(executable.kernels.back().template_name, "attention_sm90") << name;
  return executable.kernels.back();
}

// Operands of scores are loaded before the products are there, as few words as may be: neighbours
// of 16 bits are one, and a table of distances is read once for each.
TEST(AttentionSm90, LoadsAheadWhatScoresRead) {
  const auto has = [](const std::string& name, const std::string& text) {
    return kernel_of_case(name, 128, false).source.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has("bias", "p.held_inside = 1;"));
  EXPECT_TRUE(has("bias", "p.held_apart = 1;"));
  EXPECT_TRUE(has("documents", "p.held = 2;"));
  EXPECT_TRUE(has("documents", "p.held_apart = 0;"));
  EXPECT_TRUE(has("relative", "p.held_distances = 2;"));
  EXPECT_TRUE(has("soft-cap", "p.held_inside = 0;"));
}

// Kernels of a case whose S is open.
std::vector<exec::KernelBinary> open_kernels_of_case(const std::string& name, int64_t depth,
                                                     bool binaries) {
  backends::CompileOptions options;
  options.binaries = binaries;
  options.dims = {{"D", depth}, {"S", 999}};
  options.open_dims["S"] = {17, 1024, 1};
  const exec::Executable executable = executable_of_case(name, options);
  std::vector<exec::KernelBinary> kernels;
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (kernel.template_name == "attention_sm90") kernels.push_back(kernel);
  EXPECT_FALSE(kernels.empty()) << name;
  return kernels;
}

// Keys of open length, whose pairs may lie apart and of which the last may be none, too. Where each
// query has elements of its own, two of 16 bits are one word. None is loaded past the end, and
// where all keys are there nothing asks for the end.
TEST(AttentionSm90, LoadsAheadWhatScoresOfAnyLengthRead) {
  for (const exec::KernelBinary& kernel : open_kernels_of_case("bias", 64, false)) {
    EXPECT_NE(kernel.source.find("p.held_inside = 1;"), std::string::npos);
    const size_t any = kernel.source.find("void hold_score("),
                 inside = kernel.source.find("void hold_inside("),
                 end = kernel.source.find("void key_range(");
    ASSERT_LT(any, inside);
    ASSERT_LT(inside, end);
    const std::string guard = "if ((column * 2 + pair * 2 + v) < size_S)";
    EXPECT_LT(kernel.source.find(guard, any), inside);
    EXPECT_GT(kernel.source.find(guard, inside), end);
  }
  // Queries share the elements of keys: each has a word, for which nothing waits but its score.
  for (const exec::KernelBinary& kernel : open_kernels_of_case("documents", 64, false))
    EXPECT_NE(kernel.source.find("p.held = 2;"), std::string::npos);
}

// Where no query has keys of its own, the last tile alone may not be full.
TEST(AttentionSm90, KnowsThatAllKeysOfOpenLengthAreSeen) {
  const auto has = [](const std::string& name, const char* text) {
    const std::vector<exec::KernelBinary> kernels = open_kernels_of_case(name, 64, false);
    return std::ranges::all_of(
        kernels, [&](const auto& kernel) { return kernel.source.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("bias", "p.all_seen = true;"));
  EXPECT_TRUE(has("causal", "p.all_seen = false;"));
  EXPECT_NE(kernel_of_case("bias", 64, false).source.find("p.all_seen = false;"),
            std::string::npos);
}

// Distances are numbers that are computed, for a tile once: then a column's number is added.
TEST(AttentionSm90, ComputesWhatIsLinearInKeysByColumns) {
  const std::string source = kernel_of_case("alibi", 128, false).source;
  EXPECT_NE(source.find("f32(column * 2 + v)"), std::string::npos);
  EXPECT_NE(source.find("p.held_inside = 0;"), std::string::npos);
}

TEST(AttentionSm90, SmallProductsNeedNoExponentialForTanh) {
  const std::string source = kernel_of_case("soft-cap", 128, false).source;
  EXPECT_NE(source.find("(0 < small) ? "), std::string::npos);
  EXPECT_EQ(source.find("p.small_bits = 0;"), std::string::npos);
  EXPECT_NE(kernel_of_case("alibi", 128, false).source.find("p.small_bits = 0;"),
            std::string::npos);
}

TEST(AttentionSm90, DefaultsOfScoresDoNotSpill) {
  test::OneOf cases(3);
  for (const char* name : {"alibi", "bias", "documents", "relative", "soft-cap"})
    for (const int64_t depth : {64, 128}) {
      if (!cases.takes_next()) continue;
      const exec::KernelBinary kernel = kernel_of_case(name, depth, true);
      EXPECT_EQ(test::frame_bytes(kernel.code), 0) << name << " " << depth << " " << kernel.config;
      for (const exec::KernelBinary& open : open_kernels_of_case(name, depth, true))
        EXPECT_EQ(test::frame_bytes(open.code), 0) << name << " " << depth << " " << open.config;
    }
}

TEST(AttentionSm90, TheRuleOfRegistersHasALimit) {
  kernels::AttentionSm90 a;
  a.depth = a.depth_v = 128;
  a.groups = 2;
  a.block_k = 176;
  EXPECT_TRUE(kernels::attention_sm90::fits_registers(a));
  a.block_k = 192;
  EXPECT_FALSE(kernels::attention_sm90::fits_registers(a));
  a.groups = 3;
  a.block_k = 80;
  EXPECT_TRUE(kernels::attention_sm90::fits_registers(a));
  a.block_k = 96;
  EXPECT_FALSE(kernels::attention_sm90::fits_registers(a));
}

}  // namespace
}  // namespace tcc
