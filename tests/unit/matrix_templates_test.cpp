// The matrix-unit templates without a GPU: which regions they take, that their defaults and random
// configs compile without spills, and how fast.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/plan.h"
#include "scheduler/template.h"
#include "scheduler/templates/gemm.h"
#include "support/error.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/random_configs.h"

namespace tcc {
namespace {

std::string linear(int64_t m, int64_t n, int64_t k, bool gelu, bool constant = false) {
  std::string text = str("tcc: 1\nname: linear\ninputs:\n  x: {dtype: bf16, shape: [", m, ", ", k,
                         "]}\n", constant ? "weights:\n" : "", "  w: {dtype: bf16, shape: [", n,
                         ", ", k, "]", constant ? ", init: {normal: 1}" : "",
                         "}\nnodes:\n  - {out: y, op: linear, in: [x, w]}\n");
  if (gelu) text += "  - {out: z, op: gelu, in: [y]}\n";
  return text + (gelu ? "outputs: [z]\n" : "outputs: [y]\n");
}

// "a" is [m, k] and "b" [k, n], or where turned [k, m] and [n, k] in memory.
std::string turned_product(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned,
                           const char* a, const char* b, const std::string& attributes) {
  std::string text = str("tcc: 1\nname: bytes\ninputs:\n  a: {dtype: ", a, ", shape: [",
                         a_turned ? k : m, ", ", a_turned ? m : k, "]}\n  b: {dtype: ", b,
                         ", shape: [", b_turned ? n : k, ", ", b_turned ? k : n, "]}\nnodes:\n");
  if (a_turned) text += "  - {out: at, op: transpose, in: [a], dim0: 0, dim1: 1}\n";
  if (b_turned) text += "  - {out: bt, op: transpose, in: [b], dim0: 0, dim1: 1}\n";
  return text + str("  - {out: y, op: matmul, in: [", a_turned ? "at" : "a", ", ",
                    b_turned ? "bt" : "b", "]", attributes, "}\noutputs: [y]\n");
}

std::string byte_product(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned,
                         const char* a = "i8", const char* b = "i8", const char* out = "i32") {
  return turned_product(m, n, k, a_turned, b_turned, a, b, str(", out_dtype: ", out));
}

std::string f32_product(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned) {
  return turned_product(m, n, k, a_turned, b_turned, "f32", "f32", "");
}

std::string f8_product(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned,
                       const char* a = "f8e4m3", const char* b = "f8e4m3",
                       const char* out = "bf16") {
  return byte_product(m, n, k, a_turned, b_turned, a, b, out);
}

std::string template_of(const std::string& text, const sched::Target& target) {
  backends::CompileOptions options;
  options.binaries = false;
  return backends::compile(parse_yaml_graph(text, "linear.yaml", "."), target, options)
      .kernels.back()
      .template_name;
}

TEST(MatrixTemplates, TakeWhatTheirUnitsMultiply) {
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  EXPECT_EQ(template_of(linear(512, 512, 512, false), target), "gemm_sm90");
  EXPECT_EQ(template_of(linear(1, 4096, 4096, false), target), "gemv");
  EXPECT_EQ(template_of(linear(4096, 2, 4096, false), target), "gemv");
  EXPECT_EQ(template_of(linear(512, 512, 7, false), target), "contraction") << "too little of k";
  target.matrix_units = exec::units_of_kinds(target.matrix_units, {"mma"});
  EXPECT_EQ(template_of(linear(512, 512, 512, true), target), "gemm_sm80");
  target.matrix_units = {};
  EXPECT_EQ(template_of(linear(512, 512, 512, true), target), "contraction");
  EXPECT_EQ(template_of(linear(512, 512, 512, true), sched::target_by_name("cuda:sm_80")),
            "gemm_sm80");
}

// Units that truncate their sums do not serve long sums of f32 results; others do.
TEST(MatrixTemplates, AskUnitsHowFarTheirSumsAreExact) {
  sched::Target target = sched::target_by_name("cuda:sm_80");
  const auto chosen = [&](int64_t k) {
    const std::string text = str("tcc: 1\nname: widened\ninputs:\n  a: {dtype: f16, shape: [2048, ",
                                 k, "]}\n  b: {dtype: f16, shape: [", k,
                                 ", 2048]}\nnodes:\n  - {out: c, op: cast, in: [a], dtype: f32}\n"
                                 "  - {out: d, op: cast, in: [b], dtype: f32}\n"
                                 "  - {out: y, op: matmul, in: [c, d]}\noutputs: [y]\n");
    return template_of(text, target);
  };
  EXPECT_EQ(chosen(256), "gemm_sm80");
  EXPECT_EQ(chosen(512), "contraction");
  for (exec::MatrixUnit& unit : target.matrix_units) unit.exact_sum = 512;
  EXPECT_EQ(chosen(512), "gemm_sm80");
  EXPECT_EQ(chosen(1024), "contraction");
  for (exec::MatrixUnit& unit : target.matrix_units) unit.exact_sum = 0;
  EXPECT_EQ(chosen(1024), "gemm_sm80");
}

// Workgroups of a persistent grid that find no place at first would run a second round alone.
TEST(MatrixTemplates, LaunchNoMoreClustersThanRunAtOnce) {
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  target.clusters = {66, 30, 14};
  auto kernel_of = [&](const sched::ConfigSource* configs, int64_t m, int64_t n) {
    backends::CompileOptions options;
    options.binaries = false;
    options.configs = configs;
    const exec::Executable executable = backends::compile(
        parse_yaml_graph(linear(m, n, 4096, false), "linear.yaml", "."), target, options);
    return exec::standalone(executable, exec::launches(executable).size() - 1);
  };
  auto cluster_of = [](const exec::KernelBinary& kernel) {
    int64_t size = 1;
    for (const char* name : {"cluster_m=", "cluster_n=", "split_k="})
      size *= std::stoi(kernel.config.substr(kernel.config.find(name) + std::strlen(name)));
    return size;
  };
  std::set<int64_t> sizes;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const test::RandomConfigs configs(seed);
    const auto kernel = kernel_of(&configs, 4096, 4096);
    const int64_t cluster = cluster_of(kernel);
    sizes.insert(cluster);
    EXPECT_LE(kernel.grid[0].value() / cluster, target.concurrent_clusters(cluster)) << seed;
  }
  EXPECT_EQ(sizes, (std::set<int64_t>{1, 2, 4, 8}));
  // 16 tiles of 64 x 64 would split k eight times, were there room for 16 clusters.
  const auto narrow = kernel_of(nullptr, 64, 1024);
  EXPECT_LE(narrow.grid[0].value() / cluster_of(narrow),
            target.concurrent_clusters(cluster_of(narrow)));
  target.clusters = {66, 33, 16};
  EXPECT_NE(kernel_of(nullptr, 64, 1024).grid, narrow.grid);
}

TEST(MatrixTemplates, SplitKOnlyWhereAllAddUpOrThereIsOneRound) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  auto violation = [&](int64_t m, int64_t block_n) {
    const auto graph = parse_yaml_graph(linear(m, 512, 4096, false), "linear.yaml", ".");
    const backends::Scheduled scheduled = backends::schedule(graph, target);
    const sched::Config config{{"block_m", 64}, {"block_n", block_n}, {"groups", 1},
                               {"pingpong", 0}, {"cluster_m", 1},     {"cluster_n", 1},
                               {"split_k", 8},  {"band", 1},          {"swapped", 0}};
    return scheduled.regions.back().candidate().space().violation(config);
  };
  EXPECT_EQ(violation(64, 64), "");    // 8 tiles, a part of the columns for each workgroup
  EXPECT_EQ(violation(4096, 64), "");  // more of them
  EXPECT_NE(violation(4096, 32), "");  // 1024 tiles, four workgroups without columns
  EXPECT_NE(violation(64, 32), "");    // 16 tiles, one more than clusters of 8 at once
  EXPECT_EQ(violation(64, 128), "");
}

// On mma.sync the workgroups that share k are of one round, and have tiles of k.
TEST(MatrixTemplates, SplitKOnMmaOnlyWithinARound) {
  sched::Target target = sched::target_by_name("cuda:sm_80");
  target.compute_units = 100;
  auto violation = [&](int64_t m, int64_t k, int64_t parts, bool open = false) {
    backends::CompileOptions options;
    if (open) options.open_dims["M"] = {.least = 1, .most = 1 << 20, .multiple = 1};
    const ir::Graph graph = parse_yaml_graph(
        str("tcc: 1\nname: linear\ndims: {M: ", m, "}\ninputs: {x: {dtype: bf16, shape: [M, ", k,
            "]}, w: {dtype: bf16, shape: [512, ", k,
            "]}}\nnodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n"),
        "linear.yaml", ".");
    const ir::Graph bound = graph.bind({});
    const backends::Scheduled scheduled = backends::schedule(open ? graph : bound, target, options);
    const sched::Config config{
        {"block_m", 64}, {"block_n", 64}, {"line_bytes", 64}, {"warps_m", 2}, {"warps_n", 2},
        {"stages", 4},   {"resident", 2}, {"band", 1},        {"swapped", 0}, {"split_k", parts}};
    return scheduled.regions.back().candidate().space().violation(config);
  };
  EXPECT_EQ(violation(128, 4096, 10), "");  // 16 tiles, 200 at once
  EXPECT_NE(violation(128, 4096, 13), "");
  EXPECT_EQ(violation(128, 256, 8), "");  // 8 tiles of k
  EXPECT_NE(violation(128, 256, 10), "");
  EXPECT_EQ(violation(4096, 4096, 1), "");
  EXPECT_NE(violation(4096, 4096, 2), "");
  EXPECT_EQ(violation(4096, 4096, 16, true), "");  // the number of tiles decides
}

// Products of few tiles and long k have workgroups that share k; their counters are filled with
// zeros at once.
TEST(MatrixTemplates, ProductsOfFewTilesSplitKOnMma) {
  const sched::Target target = sched::target_by_name("cuda:sm_80");
  backends::CompileOptions options;
  options.binaries = false;
  const exec::Executable executable =
      backends::compile(parse_yaml_graph("tcc: 1\nname: two\n"
                                         "inputs:\n"
                                         "  x: {dtype: bf16, shape: [64, 8192]}\n"
                                         "  w: {dtype: bf16, shape: [512, 8192]}\n"
                                         "  v: {dtype: bf16, shape: [8192, 512]}\nnodes:\n"
                                         "  - {out: h, op: linear, in: [x, w]}\n"
                                         "  - {out: g, op: linear, in: [h, v]}\n"
                                         "  - {out: s, op: softmax, in: [g], dim: -1}\n"
                                         "  - {out: y, op: linear, in: [s, w]}\noutputs: [y]\n",
                                         "two.yaml", "."),
                        target, options);
  int split = 0;
  for (const exec::KernelBinary& kernel : executable.kernels)
    split += kernel.template_name == "gemm_sm80" &&
             kernel.config.find("split_k=1 ") == std::string::npos;
  EXPECT_GE(split, 1);
  int fills = 0;
  for (const exec::Step& step : executable.steps) fills += std::holds_alternative<exec::Fill>(step);
  EXPECT_EQ(fills, 1);
  EXPECT_TRUE(std::holds_alternative<exec::Fill>(executable.steps.front()));
}

// Kernels for different sizes do not run in one run: their scratch memory is in one place.
TEST(MatrixTemplates, ChoicesBySizesShareTheirWorkspaces) {
  backends::CompileOptions options;
  options.binaries = false;
  options.open_dims["M"] = {.least = 1, .most = 4096, .multiple = 1};
  const exec::Executable executable = backends::compile(
      parse_yaml_graph("tcc: 1\nname: linear\ndims: {M: 40}\ninputs:\n"
                       "  x: {dtype: bf16, shape: [M, 3000]}\n"
                       "  w: {dtype: bf16, shape: [72, 3000]}\n"
                       "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
                       "linear.yaml", "."),
      sched::target_by_name("cuda:sm_80"), options);
  int64_t workspaces = 0, largest = 0;
  for (const exec::BufferInfo& buffer : executable.buffers)
    if (buffer.name == "sums") {
      ++workspaces;
      largest = std::max(largest, buffer.bytes.value());
    }
  EXPECT_GE(workspaces, 2);
  EXPECT_LE(executable.arena_bytes.value(), largest + 4096);
}

// Memory hides work, but not all of it.
TEST(MatrixTemplates, LessWorkIsFasterUnderMemory) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  sched::GemmCycles cycles;
  const auto seconds = [&](double working) {
    cycles.working = working;
    return sched::launch_seconds(cycles, 400e6, target);
  };
  EXPECT_LT(seconds(20e3), seconds(60e3));
  EXPECT_LT(seconds(60e3) - seconds(20e3), (seconds(1e6) - seconds(960e3)) / 4);
}

// Results of few k tiles wait for their epilogues, which take longer along the kernel's rows.
TEST(MatrixTemplates, ShortProductsStoreWholeRows) {
  const auto graph = parse_yaml_graph(linear(50176, 512, 128, false), "linear.yaml", ".");
  const backends::Scheduled scheduled =
      backends::schedule(graph, sched::target_by_name("cuda:sm_90a"));
  const sched::Config config = scheduled.regions.back().candidate().default_config();
  EXPECT_EQ(config["swapped"], 0) << config.to_string();
  EXPECT_EQ(config["pingpong"], 1) << config.to_string();
  EXPECT_EQ(config["band"], 1) << config.to_string();
}

TEST(MatrixTemplates, BandsMakeNeighboursReadTheSame) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  auto fewest = [&](const sched::TileGrid& grid) {
    int64_t best = 1;
    for (const int64_t band : {2, 4, 8})
      if (read_by_neighbours(grid, band, target) < read_by_neighbours(grid, best, target))
        best = band;
    return best;
  };
  EXPECT_EQ(fewest({8, 16, 64, 64, 1}), 4) << "4 x 4 tiles of 16 neighbours";
  EXPECT_EQ(fewest({64, 2, 64, 8, 1}), 1) << "pairs read the same rows";
  EXPECT_EQ(fewest({2, 64, 8, 64, 1}), 2) << "pairs read the same columns";
}

TEST(MatrixTemplates, TakeBytesOfEitherSign) {
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  for (const bool mma : {false, true}) {
    if (mma) target.matrix_units = exec::units_of_kinds(target.matrix_units, {"mma"});
    const char* wanted = mma ? "gemm_sm80" : "gemm_sm90";
    for (const char* a : {"i8", "u8"})
      for (const char* b : {"i8", "u8"})
        for (const int turned : {0, 1, 2, 3})
          EXPECT_EQ(template_of(byte_product(512, 512, 512, turned & 1, turned & 2, a, b), target),
                    wanted)
              << a << " " << b << " " << turned;
    // Products may have any length, since the sums are exact.
    EXPECT_EQ(template_of(byte_product(64, 64, 100000, false, true), target), wanted);
    EXPECT_EQ(template_of(byte_product(512, 512, 512, false, true, "i16", "i8"), target),
              "contraction");
    std::string text = byte_product(512, 512, 512, false, true);
    text.replace(text.find("out_dtype: i32"), 14, "out_dtype: i64");
    EXPECT_EQ(template_of(text, target), "contraction") << "64-bit sums";
  }
  EXPECT_EQ(
      template_of(byte_product(512, 512, 512, false, true), sched::target_by_name("cuda:sm_75")),
      "contraction");
}

TEST(MatrixTemplates, TakeF8OfEitherKind) {
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  for (const char* a : {"f8e4m3", "f8e5m2"})
    for (const char* b : {"f8e4m3", "f8e5m2"})
      for (const char* out : {"f32", "f16", "bf16"})
        for (const int turned : {0, 1, 2, 3})
          EXPECT_EQ(
              template_of(f8_product(512, 512, 4096, turned & 1, turned & 2, a, b, out), target),
              "gemm_sm90")
              << a << " " << b << " " << out << " " << turned;
  target.matrix_units = exec::units_of_kinds(target.matrix_units, {"mma"});
  EXPECT_EQ(template_of(f8_product(512, 512, 512, false, true), target), "gemm_sm80") << "as f16";
}

// Highest precision adds up each tile of k in f32.
TEST(MatrixTemplates, SumsOfF8ArePromotedWherePrecisionIsHighest) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  backends::CompileOptions options;
  options.binaries = false;
  for (const bool highest : {true, false}) {
    if (!highest) options.matmul_precision = backends::MatmulPrecision::high;
    const auto graph = parse_yaml_graph(f8_product(512, 512, 4096, false, true), "f8.yaml", ".");
    const std::string source = backends::compile(graph, target, options).kernels.back().source;
    EXPECT_NE(source.find(highest ? "p.promoted = true;" : "p.promoted = false;"),
              std::string::npos);
  }
}

// Bytes are what is in memory: what comes in between may change them.
TEST(MatrixTemplates, WidenedBytesAreBytesUnlessTheirValuesChange) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  auto of_casts = [&](const char* first, const char* second) {
    return template_of(str("tcc: 1\nname: g\ninputs: {a: {dtype: i8, shape: [512, 512]}, "
                           "b: {dtype: i8, shape: [512, 512]}}\nnodes:\n"
                           "  - {out: c, op: cast, in: [a], dtype: ",
                           first,
                           "}\n"
                           "  - {out: d, op: cast, in: [c], dtype: ",
                           second,
                           "}\n"
                           "  - {out: e, op: cast, in: [b], dtype: ",
                           second,
                           "}\n"
                           "  - {out: y, op: matmul, in: [d, e]}\noutputs: [y]\n"),
                       target);
  };
  EXPECT_EQ(of_casts("i16", "i32"), "gemm_sm90");
  EXPECT_EQ(of_casts("u16", "i32"), "contraction");
}

std::string of_f32(std::string text) {
  for (size_t at; (at = text.find("bf16")) != std::string::npos;) text.replace(at, 4, "f32");
  return text;
}

TEST(MatrixTemplates, ExactProductsOfF32StayOnFma) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const std::string text = of_f32(linear(4096, 4096, 4096, false));
  EXPECT_EQ(template_of(text, target), "fma_sm90");
  EXPECT_EQ(template_of(text, sched::target_by_name("cuda:sm_80")), "contraction");
  EXPECT_EQ(template_of(of_f32(linear(4096, 4096, 4095, false)), target), "contraction")
      << "rows that start anywhere";
  for (const bool b_turned : {false, true})
    EXPECT_EQ(template_of(f32_product(4096, 4096, 4096, true, b_turned), target), "fma_sm90")
        << "lines of rows";
  EXPECT_EQ(template_of(f32_product(4095, 4096, 4096, true, true), target), "contraction");
  backends::CompileOptions options;
  options.binaries = false;
  options.matmul_precision = backends::MatmulPrecision::high;
  EXPECT_EQ(backends::compile(parse_yaml_graph(text, "linear.yaml", "."), target, options)
                .kernels[0]
                .template_name,
            "gemm_sm90");
}

// If no matrix unit multiplies f8, it is read as f16, or as the type of the other operand.
TEST(MatrixTemplates, ReadF8AsAWiderType) {
  const sched::Target target = sched::target_by_name("cuda:sm_80");
  const auto product = [](const std::string& a, const std::string& b, const std::string& nodes) {
    return str("tcc: 1\nname: f8\ninputs: {a: {dtype: ", a, ", shape: [512, 512]}, b: {dtype: ", b,
               ", shape: [512, 512]}}\nnodes:\n", nodes, "outputs: [y]\n");
  };
  for (const char* out : {"f32", "bf16", "f16"})
    EXPECT_EQ(
        template_of(product("f8e4m3", "f8e5m2",
                            str("  - {out: y, op: linear, in: [a, b], out_dtype: ", out, "}\n")),
                    target),
        "gemm_sm80")
        << out;
  const auto widened = [&](const char* dtype) {
    return product(dtype, "f8e4m3",
                   str("  - {out: c, op: to, in: [b], dtype: ", dtype,
                       "}\n  - {out: y, op: linear, in: [a, c]}\n"));
  };
  EXPECT_EQ(template_of(widened("bf16"), target), "gemm_sm80");
  EXPECT_EQ(template_of(widened("f16"), target), "gemm_sm80");
  EXPECT_EQ(template_of(widened("f32"), target), "contraction") << "exact";
}

// Inputs are read where they are.
class NoCopies : public sched::PlanSource {
 public:
  int64_t choose(const sched::PlanSite& site, const sched::Target&) const override {
    return site.kind.starts_with("pad_") ? 0 : site.default_choice;
  }
};

// Products of nothing have no kernel, and no template divides by their dims.
TEST(MatrixTemplates, DimsOfZeroCompile) {
  for (const char* arch : {"cuda:sm_90a", "cuda:sm_80", "vulkan"})
    for (const char* dtype : {"f16", "f32", "i32"})
      for (const char* shapes : {"0, 64, 64", "3, 0, 64", "3, 64, 0", "0, 2, 64, 64"}) {
        const std::string inputs = str("{dtype: ", dtype, ", shape: [", shapes, "]}");
        const std::string text = str("tcc: 1\ninputs:\n  a: ", inputs, "\n  b: ", inputs,
                                     "\nnodes:\n  - {out: t, op: transpose, in: [b], dim0: -1, "
                                     "dim1: -2}\n  - {out: y, op: matmul, in: [a, t]}\n"
                                     "outputs: [y]\n");
        backends::CompileOptions options;
        options.binaries = false;
        EXPECT_NO_THROW(backends::compile(parse_yaml_graph(text, "zero.yaml", "."),
                                          sched::target_by_name(arch), options))
            << arch << "\n"
            << text;
      }
}

TEST(MatrixTemplates, RandomConfigsCompileWithoutSpills) {
  for (const char* arch : {"cuda:sm_90a", "cuda:sm_80"}) {
    const sched::Target target = sched::target_by_name(arch);
    for (uint64_t seed = 1; seed <= test::draws(6u); ++seed) {
      const test::RandomConfigs configs(seed);
      backends::CompileOptions options;
      options.configs = &configs;
      const bool ragged = seed % 2 == 0;
      const auto graph = parse_yaml_graph(linear(ragged ? 301 : 512, ragged ? 777 : 1024,
                                                 ragged ? 333 : 768, seed % 3 == 0, seed > 3),
                                          "linear.yaml", ".");
      const exec::Executable executable = backends::compile(graph, target, options);
      for (const exec::KernelBinary& kernel : executable.kernels) {
        EXPECT_EQ(kernel.tier, "exact") << kernel.template_name << " has too few legal configs";
        EXPECT_EQ(test::frame_bytes(kernel.code), 0)
            << arch << " " << kernel.template_name << " " << kernel.config;
      }
    }
  }
}

// Constants need not wait for the launch before, and nothing else comes before the wait.
TEST(MatrixTemplates, CopiesOfConstantsBeginBeforeTheWait) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const int64_t m : {16, 512})  // the constant is the kernel's A, or its B
    for (const bool constant : {true, false}) {
      const auto graph = parse_yaml_graph(linear(m, 1024, 768, false, constant), "l.yaml", ".");
      const exec::Executable executable =
          backends::compile(graph, sched::target_by_name("cuda:sm_90a"), {});
      const exec::KernelBinary& kernel = executable.kernels.back();
      ASSERT_EQ(kernel.template_name, "gemm_sm90");
      EXPECT_TRUE(kernel.waits);
      EXPECT_EQ(test::copies_before_wait(kernel.code) > 0, constant) << kernel.config;
    }
  // Rows that threads shift are read as soon as they are set up, which is after the wait.
  const auto graph = parse_yaml_graph(linear(512, 1024, 777, false, true), "l.yaml", ".");
  const exec::Executable executable =
      backends::compile(graph, sched::target_by_name("cuda:sm_90a"), {});
  for (const exec::KernelBinary& kernel : executable.kernels) EXPECT_TRUE(kernel.waits);
}

TEST(MatrixTemplates, RandomConfigsOfExactF32CompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  test::OneOf third(3);
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    if (!third.takes_next()) continue;
    const test::RandomConfigs configs(seed);
    backends::CompileOptions options;
    options.configs = &configs;
    const bool a_turned = seed % 4 < 2, b_turned = seed % 2 == 0;
    const std::string text = seed > 8 ? of_f32(linear(4096, 4096, 4096, b_turned))
                                      : f32_product(4096, 4096, 4096, a_turned, b_turned);
    const exec::Executable executable =
        backends::compile(parse_yaml_graph(text, "f32.yaml", "."), target, options);
    const exec::KernelBinary& kernel = executable.kernels.back();
    EXPECT_EQ(kernel.template_name, "fma_sm90");
    EXPECT_EQ(kernel.tier, "exact") << "too few legal configs";
    EXPECT_EQ(test::frame_bytes(kernel.code), 0) << kernel.config << "\n" << text;
  }
}

// The template with the shortest estimate gets a region, among those of one number.
TEST(MatrixTemplates, SmallProductsOfF32GetTheFasterKernel) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  std::set<std::string> chosen;
  for (const int64_t size : {16, 64, 512, 4096})
    chosen.insert(template_of(of_f32(linear(size, 64, 4 * size, false)), target));
  EXPECT_EQ(chosen, (std::set<std::string>{"contraction", "fma_sm90"}));
}

TEST(MatrixTemplates, RandomConfigsOfBytesCompileWithoutSpills) {
  for (const char* arch : {"cuda:sm_90a", "cuda:sm_80"}) {
    const sched::Target target = sched::target_by_name(arch);
    for (uint64_t seed = 1; seed <= test::draws(8u); ++seed) {
      const test::RandomConfigs configs(seed);
      backends::CompileOptions options;
      options.configs = &configs;
      const NoCopies plan;
      options.plan = &plan;
      const bool ragged = seed % 3 == 0;
      const std::string text =
          byte_product(ragged ? 301 : 512, ragged ? 778 : 1024, ragged ? 1001 : 768, seed & 1,
                       seed & 2, seed & 4 ? "u8" : "i8", seed % 5 ? "i8" : "u8");
      const exec::Executable executable =
          backends::compile(parse_yaml_graph(text, "bytes.yaml", "."), target, options);
      const exec::KernelBinary& kernel = executable.kernels.back();
      EXPECT_TRUE(kernel.template_name.starts_with("gemm_sm")) << kernel.template_name;
      EXPECT_EQ(kernel.tier, "exact") << kernel.template_name << " has too few legal configs";
      EXPECT_EQ(test::frame_bytes(kernel.code), 0)
          << arch << " " << kernel.template_name << " " << kernel.config << "\n"
          << text;
    }
  }
}

TEST(MatrixTemplates, RandomConfigsThatSplitKCompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_80");
  const NoCopies plan;
  for (uint64_t seed = 1; seed <= test::draws(10u); ++seed) {
    const test::RandomConfigs configs(seed, {{"split_k", seed % 2 ? 4 : 16}});
    backends::CompileOptions options;
    options.configs = &configs;
    options.plan = &plan;
    const bool ragged = seed % 3 == 0;
    const std::string text = seed % 5 == 0
                                 ? byte_product(33, 64, 4096, seed & 1, seed & 2)
                                 : linear(ragged ? 33 : 64, ragged ? 99 : 128, 4096, true);
    const exec::KernelBinary kernel =
        backends::compile(parse_yaml_graph(text, "g.yaml", "."), target, options).kernels.back();
    EXPECT_EQ(kernel.template_name, "gemm_sm80");
    EXPECT_EQ(kernel.config.find("split_k=1 "), std::string::npos) << kernel.config;
    EXPECT_EQ(test::frame_bytes(kernel.code), 0) << kernel.config << "\n" << text;
  }
}

TEST(MatrixTemplates, RandomConfigsOfF8CompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  for (uint64_t seed = 1; seed <= test::draws(10u); ++seed) {
    const test::RandomConfigs configs(seed);
    const NoCopies plan;
    backends::CompileOptions options;
    options.configs = &configs;
    options.plan = &plan;
    if (seed % 3 == 0) options.matmul_precision = backends::MatmulPrecision::high;
    const bool ragged = seed % 4 == 0;
    const std::string text =
        f8_product(ragged ? 301 : 512, ragged ? 778 : 1024, ragged ? 1001 : 768, seed & 1, seed & 2,
                   seed & 4 ? "f8e4m3" : "f8e5m2", seed % 5 ? "f8e4m3" : "f8e5m2");
    const exec::Executable executable =
        backends::compile(parse_yaml_graph(text, "f8.yaml", "."), target, options);
    const exec::KernelBinary& kernel = executable.kernels.back();
    EXPECT_EQ(kernel.template_name, "gemm_sm90");
    EXPECT_EQ(kernel.tier, "exact") << "too few legal configs";
    EXPECT_EQ(test::frame_bytes(kernel.code), 0) << kernel.config << "\n" << text;
  }
}

// The most accumulators that the rule of registers allows, and what it refuses.
TEST(MatrixTemplates, ConfigsAtTheLimitOfRegistersCompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const std::string tiles = linear(4096, 4096, 4096, true), rows = linear(512, 512, 1023, true),
                    promoted = f8_product(512, 2048, 4096, false, true);
  struct Limit {
    const std::string& text;
    int64_t block_m, block_n, groups;
    bool legal;
  };
  const Limit limits[] = {
      {tiles, 128, 128, 1, true},    {tiles, 64, 256, 1, true},     {tiles, 128, 160, 1, false},
      {tiles, 256, 192, 2, true},    {tiles, 256, 224, 2, false},   {tiles, 192, 160, 3, true},
      {tiles, 192, 192, 3, false},   {rows, 128, 128, 1, true},     {rows, 256, 128, 2, true},
      {rows, 256, 160, 2, false},    {rows, 192, 64, 3, false},     {promoted, 64, 128, 1, true},
      {promoted, 128, 192, 2, true}, {promoted, 128, 256, 2, false}};
  const NoCopies plan;
  for (const Limit& limit : limits) {
    const sched::Config config{{"block_m", limit.block_m},
                               {"block_n", limit.block_n},
                               {"groups", limit.groups},
                               {"pingpong", 0},
                               {"cluster_m", 1},
                               {"cluster_n", 1},
                               {"split_k", 1},
                               {"band", 1},
                               {"swapped", 0}};
    const sched::FixedConfig configs(config);
    backends::CompileOptions options;
    options.plan = &plan;
    options.configs = &configs;
    options.binaries = limit.legal;
    const exec::KernelBinary kernel =
        backends::compile(parse_yaml_graph(limit.text, "g.yaml", "."), target, options)
            .kernels.back();
    EXPECT_EQ(kernel.config == config.to_string(), limit.legal) << config.to_string();
    if (limit.legal) { EXPECT_EQ(test::frame_bytes(kernel.code), 0) << config.to_string(); }
  }
}

TEST(MatrixTemplates, HaveConfigsToChooseFrom) {
  for (const char* arch : {"cuda:sm_90a", "cuda:sm_80"}) {
    const sched::Target target = sched::target_by_name(arch);
    const auto graph = parse_yaml_graph(linear(301, 777, 333, true), "linear.yaml", ".");
    const backends::Scheduled scheduled = backends::schedule(graph, target);
    for (const sched::ScheduledRegion& region : scheduled.regions)
      if (region.region().anchor) { EXPECT_GE(region.candidate().space().size(), 500) << arch; }
  }
}

// Operands that threads load: rows of odd lengths, and a convolution's patches.
TEST(MatrixTemplates, LoadsByThreadsCompileWithoutSpills) {
  const std::string convolution =
      "tcc: 1\nname: conv\ninputs: {x: {dtype: bf16, shape: [2, 64, 28, 28]}}\n"
      "weights: {w: {dtype: bf16, shape: [128, 64, 3, 3], init: {normal: 0.02}}}\n"
      "nodes: [{out: y, op: conv2d, in: [x, w], padding: 1}]\noutputs: [y]\n";
  const std::string byte_convolution =
      "tcc: 1\nname: conv\ninputs: {x: {dtype: u8, shape: [2, 64, 28, 28]}, "
      "w: {dtype: i8, shape: [128, 64, 3, 3]}}\n"
      "nodes: [{out: y, op: conv2d, in: [x, w], padding: 1, out_dtype: i32}]\noutputs: [y]\n";
  const std::string f8_convolution =
      "tcc: 1\nname: conv\ninputs: {x: {dtype: f8e5m2, shape: [2, 64, 28, 28]}, "
      "w: {dtype: f8e4m3, shape: [128, 64, 3, 3]}}\n"
      "nodes: [{out: y, op: conv2d, in: [x, w], padding: 1, out_dtype: bf16}]\noutputs: [y]\n";
  const std::pair<std::string, std::string> cases[] = {
      {linear(33, 64, 1023, true), ".load = Load::rows;"},
      {convolution, ".load = Load::computed;"},
      {byte_product(64, 96, 1023, false, true), ".load = Load::rows;"},
      {byte_product(64, 96, 1024, false, false), ".load = Load::computed;"},
      {byte_product(64, 99, 1023, true, false), ".load = Load::computed;"},
      {byte_convolution, ".load = Load::computed;"},
      {f8_convolution, ".load = Load::computed;"},
      {f8_product(64, 96, 1024, false, false, "f8e5m2", "f8e4m3"), ".load = Load::computed;"},
      {f8_product(64, 99, 1023, true, false), ".load = Load::computed;"}};
  const NoCopies plan;
  backends::CompileOptions options;
  options.plan = &plan;
  test::OneOf taken(5);
  for (const char* arch : {"cuda:sm_90a", "cuda:sm_80"})
    for (const auto& [text, load] : cases) {
      if (!taken.takes_next()) continue;
      const exec::Executable executable = backends::compile(parse_yaml_graph(text, "g.yaml", "."),
                                                            sched::target_by_name(arch), options);
      const exec::KernelBinary& kernel = executable.kernels.back();
      EXPECT_TRUE(kernel.template_name.starts_with("gemm_sm")) << kernel.template_name;
      EXPECT_NE(kernel.source.find(load), std::string::npos) << arch << "\n" << text;
      EXPECT_EQ(test::frame_bytes(kernel.code), 0) << arch << " " << kernel.config << "\n" << text;
    }
}

}  // namespace
}  // namespace tcc
