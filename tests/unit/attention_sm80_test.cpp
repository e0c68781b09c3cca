// Attention on mma.sync: which regions it takes and how it reads them, how it divides the work, and
// that kernels do not spill.
#include <gtest/gtest.h>

#include <set>

#include "backends/compile/nvrtc.h"
#include "backends/device/common/attention_sm80_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/unit/attention_cases.h"
#include "tests/unit/attention_lists.h"

namespace tcc {
namespace {

test::AttentionCase with_op(const test::AttentionSizes& s, std::string_view dtype,
                            std::string_view attributes = "") {
  return {"attention", test::attention_inputs(s, dtype),
          str("  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]",
              s.shared == s.heads ? "" : ", enable_gqa: true", attributes, "}\n")};
}

exec::Executable compiled(const test::AttentionCase& c, const std::string& target,
                          backends::CompileOptions options = {}) {
  options.binaries = false;
  return backends::compile(test::attention_graph(c), sched::target_by_name(target), options);
}

using Precision = backends::MatmulPrecision;

backends::CompileOptions at(Precision precision) {
  backends::CompileOptions options;
  options.matmul_precision = precision;
  return options;
}

std::string template_of(const test::AttentionCase& c, const std::string& target = "cuda:sm_80",
                        Precision precision = Precision::highest) {
  return compiled(c, target, at(precision)).kernels.front().template_name;
}

// The kernel of all keys, or of their parts.
// The kernel's text; of several kernels that of attention, without what joins its parts.
std::string source_of(const test::AttentionCase& c, const std::string& target = "cuda:sm_80",
                      Precision precision = Precision::highest) {
  const exec::Executable executable = compiled(c, target, at(precision));
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (kernel.source.find("p.q.load = ") != kernel.source.npos) return kernel.source;
  return executable.kernels.front().source;
}

// The value of a parameter in the kernel's text.
std::string field(const std::string& source, std::string_view name) {
  const std::string begin = str("p.", name, " = ");
  const size_t at = source.find(begin);
  if (at == source.npos) return "";
  return source.substr(at + begin.size(), source.find(';', at) - at - begin.size());
}

constexpr test::AttentionSizes kLong = {2, 8, 8, 2048, 2048, 64, 64};

TEST(AttentionSm80, RunsWhereThereIsMma) {
  for (const char* target :
       {"cuda:sm_80", "cuda:sm_86", "cuda:sm_89", "cuda:sm_90", "cuda:sm_100a", "cuda:sm_120"})
    for (const char* dtype : {"f16", "bf16"})
      EXPECT_EQ(template_of(with_op(kLong, dtype), target), "attention_sm80") << target << dtype;
  EXPECT_EQ(template_of(with_op(kLong, "bf16"), "cuda:sm_90a"), "attention_sm90");
  EXPECT_NE(template_of(with_op(kLong, "bf16"), "cuda:sm_75"), "attention_sm80");
  EXPECT_NE(template_of(with_op(kLong, "f32")), "attention_sm80");
}

// f32 is read as tf32 where products of f32 may be.
TEST(AttentionSm80, TakesF32WhereThePrecisionAllowsTf32) {
  const test::AttentionCase c = with_op(kLong, "f32");
  for (const char* target : {"cuda:sm_80", "cuda:sm_86", "cuda:sm_89", "cuda:sm_90", "cuda:sm_90a",
                             "cuda:sm_100a", "cuda:sm_120"}) {
    for (const Precision precision : {Precision::high, Precision::medium})
      EXPECT_EQ(template_of(c, target, precision), "attention_sm80") << target;
    const exec::Executable highest = compiled(c, target);
    for (const exec::KernelBinary& kernel : highest.kernels) {
      EXPECT_NE(kernel.template_name, "attention_sm80") << target;
      EXPECT_EQ(kernel.source.find("Element::tf32;"), std::string::npos) << target;
    }
  }
  EXPECT_NE(source_of(c, "cuda:sm_80", Precision::high).find("p.element = Element::tf32;"),
            std::string::npos);
  EXPECT_NE(template_of(c, "cuda:sm_75", Precision::high), "attention_sm80");
  EXPECT_EQ(source_of(with_op(kLong, "bf16"), "cuda:sm_80", Precision::high),
            source_of(with_op(kLong, "bf16"), "cuda:sm_80"));
}

// A copy of 16 bytes has half as many words, and rows are whole words whatever their depth.
TEST(AttentionSm80, ReadsRowsOfWords) {
  const auto operand_of = [](int64_t depth, int64_t depth_v) {
    test::AttentionSizes s = kLong;
    s.depth = depth;
    s.depth_v = depth_v;
    const std::string source = source_of(with_op(s, "f32"), "cuda:sm_90a", Precision::high);
    return str(field(source, "k.load"), " ", field(source, "k.vector"), " ",
               field(source, "v.load"), " ", field(source, "v.vector"));
  };
  EXPECT_EQ(operand_of(64, 64), "Load::tiles 4 Load::tiles 4");
  EXPECT_EQ(operand_of(66, 65), "Load::tiles 2 Load::tiles 1");
}

// Whatever 16 bits have: computed operands, pages, packed heads, dropout, parts and clusters.
TEST(AttentionSm80, HasAllForWords) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    for (const test::AttentionCase& c : test::attention_cases_of_tf32()) {
      if (c.name == "tf32_f32_1x1o1x130x260x256x256") continue;  // products take less time
      const exec::Executable executable = compiled(c, target, at(Precision::high));
      EXPECT_TRUE(std::ranges::any_of(executable.kernels,
                                      [](const exec::KernelBinary& kernel) {
                                        return kernel.template_name == "attention_sm80" &&
                                               field(kernel.source, "element") == "Element::tf32";
                                      }))
          << target << " " << c.name;
    }
  const exec::Executable parts =
      compiled(with_op({1, 32, 8, 1, 8192, 128, 128}, "f32"), "cuda:sm_80", at(Precision::high));
  ASSERT_EQ(parts.kernels.size(), 2U);
  EXPECT_EQ(parts.kernels.front().template_name, "attention_sm80");
  const exec::Executable cluster =
      compiled(with_op({1, 32, 8, 1, 1000, 64, 64}, "f32"), "cuda:sm_90a", at(Precision::high));
  ASSERT_EQ(cluster.kernels.size(), 1U);
  EXPECT_NE(cluster.kernels.front().config.find("cluster=8"), std::string::npos)
      << cluster.kernels.front().config;
}

// Operands that the kernels of sm_90a do not read stay on matrix units there, too.
TEST(AttentionSm80, ReadsRowsOfAnyAlignment) {
  const auto operand_of = [](int64_t depth, int64_t depth_v) {
    test::AttentionSizes s = kLong;
    s.depth = depth;
    s.depth_v = depth_v;
    const test::AttentionCase c = with_op(s, "bf16");
    EXPECT_EQ(template_of(c, "cuda:sm_90a"),
              depth % 8 == 0 && depth_v % 8 == 0 ? "attention_sm90" : "attention_sm80");
    const std::string source = source_of(c);
    return str(field(source, "k.load"), " ", field(source, "k.vector"), " ",
               field(source, "v.load"), " ", field(source, "v.vector"));
  };
  EXPECT_EQ(operand_of(64, 64), "Load::tiles 8 Load::tiles 8");
  EXPECT_EQ(operand_of(68, 66), "Load::tiles 4 Load::tiles 2");
  EXPECT_EQ(operand_of(72, 65), "Load::tiles 8 Load::rows 1");
}

// A narrow range leaves one tile: then nothing is divided by a number of tiles, and no loop is
// between the copies of keys and what scores read.
TEST(AttentionSm80, KnowsOfOneTileInANarrowRange) {
  const auto has = [](int64_t most, std::string_view causal, std::string_view text) {
    test::AttentionCase c;
    c.name = "attention";
    c.dims = "S: 16";
    for (const char* input : {"q", "k", "v"})
      c.inputs += str("  ", input, ": {shape: [2, 4, S, 64], dtype: bf16}\n");
    c.nodes = str("  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]", causal, "}\n");
    backends::CompileOptions options;
    options.binaries = false;
    options.dims = {{"S", most}};
    options.open_dims["S"] = {most > 16 ? 900 : 1, most, 1};
    const exec::Executable executable =
        backends::compile(test::attention_graph(c), sched::target_by_name("cuda:sm_80"), options);
    return std::ranges::all_of(executable.kernels, [&](const exec::KernelBinary& kernel) {
      return kernel.source.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(has(16, "", "p.one_query_tile = true;"));
  EXPECT_TRUE(has(16, "", "p.one_key_tile = true;"));
  EXPECT_TRUE(has(16, ", is_causal: true", "p.one_query_tile = true;"));
  EXPECT_TRUE(has(16, ", is_causal: true", "p.one_key_tile = false;"));
  EXPECT_TRUE(has(1000, "", "p.one_key_tile = false;"));
}

// Queries are computed once. Keys and values are for each tile of queries, where these are few.
TEST(AttentionSm80, ComputesOperands) {
  const auto source_of_queries = [](int64_t queries) {
    test::AttentionSizes s = kLong;
    s.queries = queries;
    test::AttentionCase c = with_op(s, "bf16");
    c.nodes =
        "  - {out: q1, op: neg, in: [q]}\n  - {out: k1, op: relu, in: [k]}\n"
        "  - {out: v1, op: neg, in: [v]}\n"
        "  - {out: [a], op: scaled_dot_product_attention, in: [q1, k1, v1]}\n";
    return source_of(c);
  };
  const std::string few = source_of_queries(32), many = source_of_queries(2048);
  EXPECT_NE(few.find("p.q.load = Load::computed;"), few.npos);
  EXPECT_NE(few.find("p.k.load = Load::computed;"), few.npos);
  EXPECT_NE(few.find("p.v.load = Load::computed;"), few.npos);
  EXPECT_NE(many.find("p.q.load = Load::computed;"), many.npos);
  EXPECT_NE(many.find("p.k.load = Load::tiles;"), many.npos);
  EXPECT_NE(many.find("p.v.load = Load::tiles;"), many.npos);
}

// Whatever the config, with parts, clusters and stages.
TEST(AttentionSm80, ListsOfTilesCompile) {
  test::OneOf cases(5);
  if (!backends::nvrtc_missing().empty()) GTEST_SKIP() << backends::nvrtc_missing();
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    for (const test::AttentionCase& c : test::attention_cases_of_lists("bf16"))
      for (const uint64_t seed : {1, 2}) {
        if (!cases.takes_next()) continue;
        const test::ConfigsWith configs("lists", 1, seed);
        backends::CompileOptions options;
        options.configs = &configs;
        const exec::Executable executable =
            backends::compile(test::attention_graph(c), sched::target_by_name(target), options);
        EXPECT_GE(executable.kernels.size(), 2U) << c.name;
      }
}

TEST(AttentionSm80, ReadsPages) {
  const auto paged = [](int64_t depth) {
    return test::AttentionCase{
        "paged",
        str("  q: {dtype: bf16, shape: [4, 32, 4, ", depth,
            "]}\n  k: {dtype: bf16, shape: [256, 16, 8, ", depth,
            "]}\n  v: {dtype: bf16, shape: [256, 16, 8, ", depth,
            "]}\n  t: {dtype: i32, shape: [4, 64]}\n  n: {dtype: i32, shape: [4]}\n"),
        "  - {out: [a], op: paged_attention, in: [q, k, v, t, n], is_causal: true}\n"};
  };
  const auto expect = [](const std::string& source, std::initializer_list<const char*> fields) {
    for (const char* field : fields) EXPECT_NE(source.find(field), source.npos) << field;
  };
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    // Few queries of heads that share pages are rows of one tile.
    expect(source_of(paged(128), target),
           {"p.k.load = Load::tiles;", "p.k.vector = 8;", "p.k.apart = true;", "p.q.apart = false;",
            "p.v.apart = true;", "p.pack = 4;"});
    expect(source_of(paged(66), target), {"p.k.load = Load::tiles;", "p.k.vector = 2;"});
    expect(source_of(paged(65), target), {"p.k.load = Load::computed;", "p.k.apart = false;"});
  }
}

// The rows that are gathered count, however many pages there are beside.
TEST(AttentionSm80, ReadsFewPagesOfMany) {
  const test::AttentionCase c = {
      "paged",
      "  q: {dtype: bf16, shape: [4, 32, 1, 128]}\n  k: {dtype: bf16, shape: [4096, 16, 8, 128]}\n"
      "  v: {dtype: bf16, shape: [4096, 16, 8, 128]}\n  t: {dtype: i32, shape: [4, 64]}\n"
      "  n: {dtype: i32, shape: [4]}\n",
      "  - {out: [a], op: paged_attention, in: [q, k, v, t, n]}\n"};
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    EXPECT_NE(source_of(c, target).find("p.k.apart = true;"), std::string::npos) << target;
}

// A tile's bounds are those of its queries, where they are loaded for each.
TEST(AttentionMatrix, AsksForTheKeysOfEachQuery) {
  const auto packed = [](int64_t length) {
    return test::AttentionCase{
        "packed",
        str("  q: {dtype: bf16, shape: [", length, ", 16, 128]}\n  k: {dtype: bf16, shape: [",
            length, ", 4, 128]}\n  v: {dtype: bf16, shape: [", length,
            ", 4, 128]}\n  s: {dtype: i32, shape: [18]}\n"),
        "  - {out: [a], op: packed_attention, in: [q, k, v, s], is_causal: true}\n"};
  };
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const exec::Executable executable = compiled(packed(16384), target);
    ASSERT_EQ(executable.kernels.size(), 2U) << target;
    const auto& attention = executable.kernels.back();
    EXPECT_TRUE(attention.template_name.starts_with("attention_sm")) << attention.template_name;
    EXPECT_NE(attention.source.find("p.by_query = true;"), std::string::npos) << target;
    EXPECT_NE(
        source_of(with_op(kLong, "bf16", ", is_causal: true"), target).find("p.by_query = false;"),
        std::string::npos);
  }
}

// Dropout's numbers are drawn where the weights are: there is one kernel, and nothing is stored.
TEST(AttentionMatrix, DrawsDropout) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    for (const char* dtype : {"f16", "bf16"}) {
      const exec::Executable executable =
          compiled(with_op(kLong, dtype, ", dropout_p: 0.1"), target);
      ASSERT_EQ(executable.kernels.size(), 1U) << target;
      const auto& kernel = executable.kernels.front();
      EXPECT_TRUE(kernel.template_name.starts_with("attention_sm")) << kernel.template_name;
      EXPECT_NE(kernel.source.find("p.weights = 4;"), std::string::npos);
      EXPECT_NE(kernel.source.find("tcc_uniform_f32("), std::string::npos);
    }
}

// The heads of a group are rows of one tile, where queries are few.
TEST(AttentionSm80, PacksHeadsThatShareKeys) {
  const auto pack_of = [](int64_t heads, int64_t shared, int64_t queries) {
    const std::string source =
        source_of(with_op({1, heads, shared, queries, 4096, 128, 128}, "bf16"));
    const size_t at = source.find("p.pack = ") + 9;
    return source.substr(at, source.find(';', at) - at);
  };
  EXPECT_EQ(pack_of(32, 8, 4), "4");
  EXPECT_EQ(pack_of(32, 4, 2), "8");
  EXPECT_EQ(pack_of(32, 8, 1), "1") << "the heads are the queries";
  EXPECT_EQ(pack_of(8, 8, 4), "1");
  EXPECT_EQ(pack_of(32, 8, 1024), "1");
}

TEST(AttentionSm80, SplitsKeysOfFewQueries) {
  const exec::Executable decode =
      compiled(with_op({1, 32, 8, 1, 8192, 128, 128}, "bf16"), "cuda:sm_80");
  ASSERT_EQ(decode.kernels.size(), 2U);
  EXPECT_EQ(decode.kernels.front().template_name, "attention_sm80");
  EXPECT_EQ(compiled(with_op(kLong, "bf16"), "cuda:sm_80").kernels.size(), 1U);
}

// One launch: the workgroups of a cluster send each other the parts of rows that exist.
TEST(AttentionSm80, ClustersShareTheKeysOfFewQueries) {
  for (const char* target : {"cuda:sm_90", "cuda:sm_90a", "cuda:sm_100a"}) {
    const exec::Executable decode = compiled(with_op({1, 32, 8, 1, 2000, 64, 64}, "bf16"), target);
    ASSERT_EQ(decode.kernels.size(), 1U) << target;
    const exec::KernelBinary& kernel = decode.kernels.front();
    EXPECT_NE(kernel.config.find("cluster=8"), std::string::npos) << target << kernel.config;
    EXPECT_NE(kernel.source.find("p.sent_rows = 4;"), std::string::npos) << target;
    EXPECT_NE(kernel.source.find("__cluster_dims__(8)"), std::string::npos) << target;
  }
}

TEST(AttentionSm80, OrdersTilesByLength) {
  EXPECT_NE(source_of(with_op(kLong, "bf16", ", is_causal: true")).find("p.orders = true;"),
            std::string::npos);
  EXPECT_NE(source_of(with_op(kLong, "bf16")).find("p.orders = false;"), std::string::npos);
}

// A few words that are used once a tile may lie in local memory.
int64_t frame_bytes(const test::AttentionCase& c, const std::string& target,
                    const backends::CompileOptions& options, std::string& config) {
  const exec::Executable executable =
      backends::compile(test::attention_graph(c), sched::target_by_name(target), options);
  config = executable.kernels.front().config;
  return test::frame_bytes(executable.kernels.front().code);
}

TEST(AttentionSm80, DefaultsDoNotSpill) {
  test::OneOf cases(5);
  std::string config;
  for (const int64_t depth : {64, 128, 256})
    for (const char* attributes : {"", ", is_causal: true"})
      for (const char* target : {"cuda:sm_80", "cuda:sm_89", "cuda:sm_100"}) {
        test::AttentionSizes s = kLong;
        s.depth = s.depth_v = depth;
        if (!cases.takes_next()) continue;
        EXPECT_LE(frame_bytes(with_op(s, "bf16", attributes), target, {}, config), 16)
            << depth << attributes << " " << target << " " << config;
      }
}

TEST(AttentionSm80, DefaultsOfWordsDoNotSpill) {
  test::OneOf cases(5);
  std::string config;
  for (const int64_t depth : {40, 64, 128, 256})
    for (const char* attributes : {"", ", is_causal: true"})
      for (const char* target : {"cuda:sm_80", "cuda:sm_89", "cuda:sm_90a"}) {
        test::AttentionSizes s = kLong;
        s.depth = s.depth_v = depth;
        if (!cases.takes_next()) continue;
        EXPECT_LE(frame_bytes(with_op(s, "f32", attributes), target, at(Precision::high), config),
                  16)
            << depth << attributes << " " << target << " " << config;
      }
}

TEST(AttentionSm80, LegalConfigsDoNotSpill) {
  test::AttentionSizes s = kLong;
  s.depth = s.depth_v = 128;
  for (const char* dtype : {"bf16", "f32"})
    for (uint64_t seed = 1; seed <= test::draws(8u); ++seed) {
      const test::RandomConfigs configs(seed);
      backends::CompileOptions options = at(Precision::high);
      options.configs = &configs;
      std::string config;
      EXPECT_LE(frame_bytes(with_op(s, dtype), "cuda:sm_80", options, config), 64)
          << dtype << " " << config;
    }
}

TEST(AttentionSm80, TheRuleOfRegistersHasALimit) {
  kernels::AttentionSm80 a;
  a.depth = a.depth_v = 128;
  a.block_q = 128;
  a.warps_q = 4;
  a.block_k = 64;
  EXPECT_TRUE(kernels::attention_sm80::fits_registers(a));
  EXPECT_FALSE(kernels::attention_sm80::keeps_queries(a));
  a.block_k = 96;
  EXPECT_FALSE(kernels::attention_sm80::fits_registers(a));
  a.depth = a.depth_v = 64;
  EXPECT_TRUE(kernels::attention_sm80::fits_registers(a));
}

}  // namespace
}  // namespace tcc
