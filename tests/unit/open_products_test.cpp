// Products of open rows and batches as CUDA kernels: their hooks get the sizes as parameters.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/draws.h"
#include "tests/expect_error.h"
#include "tests/random_configs.h"

namespace tcc::backends {
namespace {

// Sizes far from the usual one may have kernels of other templates.
using Names = std::multiset<std::string>;
Names usual_templates(const exec::Executable& executable) {
  Names names;
  for (const exec::KernelLaunch* launch : exec::usual_launches(executable))
    names.insert(executable.kernels[static_cast<size_t>(launch->kernel)].template_name);
  return names;
}

TEST(OpenProducts, CompileForCuda) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 16}\n"
      "inputs: {x: {dtype: bf16, shape: [B, 48]}, q: {dtype: f32, shape: [B, B, 16]},\n"
      "  k: {dtype: f32, shape: [B, 16, 9]}}\n"
      "weights: {w: {dtype: bf16, shape: [96, 48], init: {normal: 0.1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w]}\n"
      "  - {out: r, op: relu, in: [y]}\n"
      "  - {out: s, op: matmul, in: [q, k]}\n"
      "outputs: [r, s]\n",
      "g.yaml", ".");
  CompileOptions options;
  options.open_dims = {{"B", {}}};
  options.binaries = nvrtc_missing().empty();
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
    EXPECT_EQ(usual_templates(executable), Names({"contraction", "contraction"})) << target;
  }
}

// A linear layer of B rows and a residual, and a product of B rows in each of B batches.
ir::Graph products() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 200}\n"
      "inputs: {x: {dtype: bf16, shape: [B, 512]}, res: {dtype: bf16, shape: [B, 384]},\n"
      "  q: {dtype: bf16, shape: [B, B, 64]}, k: {dtype: bf16, shape: [B, 96, 64]}}\n"
      "weights: {w: {dtype: bf16, shape: [384, 512], init: {normal: 0.1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w]}\n"
      "  - {out: r, op: add, in: [y, res]}\n"
      "  - {out: kt, op: transpose, in: [k], dim0: 1, dim1: 2}\n"
      "  - {out: s, op: matmul, in: [q, kt]}\n"
      "outputs: [r, s]\n",
      "g.yaml", ".");
}

void expect_on_units(const sched::Target& target, const std::string& template_name, bool binaries) {
  for (uint64_t seed = 0; seed < test::draws(13u); ++seed) {
    SCOPED_TRACE(str(template_name, ", seed ", seed));
    const test::RandomConfigs configs(seed);
    CompileOptions options;
    options.open_dims = {{"B", {}}};
    options.binaries = binaries;
    if (seed > 0) options.configs = &configs;
    const exec::Executable executable = compile(products(), target, options);
    EXPECT_EQ(usual_templates(executable), Names({template_name, template_name}));
    for (const exec::KernelLaunch* launch : exec::launches(executable)) {
      for (const exec::TensorMap& map : launch->maps) EXPECT_LE(map.dims.size(), 3u) << map.name;
    }
    // Nothing is launched where there are no rows; a map would have no elements.
    for (const int64_t size : {0, 1, 7, 1000}) exec::check(executable, {{{"B", size}}});
  }
}

TEST(OpenProducts, AreOnMatrixUnitsOfCuda) {
  const bool binaries = nvrtc_missing().empty();
  expect_on_units(sched::target_by_name("cuda:sm_80"), "gemm_sm80", binaries);
  expect_on_units(sched::target_by_name("cuda:sm_90a"), "gemm_sm90", binaries);
}

// Columns and sums of B, whose lines have the alignment of one element, or of whole vectors.
// Loads of an epilogue stand under no condition, so that they do not wait for one another.
TEST(OpenProducts, OnlyStoresHaveAConditionOfTheLastRows) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 512}\n"
      "inputs: {x: {dtype: bf16, shape: [B, 512]}, r: {dtype: bf16, shape: [B, 512]}}\n"
      "weights: {w: {dtype: bf16, shape: [512, 512], init: {normal: 0.1}}, "
      "b: {dtype: bf16, shape: [512], init: {normal: 0.1}}}\n"
      "nodes: [{out: l, op: linear, in: [x, w, b]}, {out: y, op: add, in: [l, r]}]\n"
      "outputs: [y]\n",
      "g.yaml", ".");
  CompileOptions options;
  options.open_dims = {{"B", {1, 4096, 1}}};
  options.binaries = false;
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
    const std::string& source =
        executable.kernels[static_cast<size_t>(exec::usual_launches(executable).front()->kernel)]
            .source;
    const size_t begin = source.find("void epilogue(");
    ASSERT_NE(begin, std::string::npos) << target;
    const std::string epilogue = source.substr(begin, source.find("\n}\n", begin) - begin);
    EXPECT_NE(epilogue.find("tcc_cuda_store"), std::string::npos) << target << epilogue;
    EXPECT_EQ(epilogue.find("if ("), std::string::npos) << target << epilogue;
  }
}

TEST(OpenProducts, OfColumnsAndSumsAreOnMatrixUnitsOfCuda) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 256}\n"
      "inputs: {q: {dtype: bf16, shape: [B, 64]}, k: {dtype: bf16, shape: [B, 64]},\n"
      "  v: {dtype: bf16, shape: [B, 72]}, w: {dtype: bf16, shape: [80, B]}}\n"
      "nodes:\n"
      "  - {out: s, op: einsum, in: [q, k], equation: 'ik,jk->ij'}\n"
      "  - {out: y, op: matmul, in: [s, v]}\n"
      "  - {out: z, op: matmul, in: [w, v]}\n"
      "outputs: [y, z]\n",
      "g.yaml", ".");
  test::OneOf cases(7);
  for (const auto& [target, template_name] :
       {std::pair{"cuda:sm_80", "gemm_sm80"}, {"cuda:sm_90a", "gemm_sm90"}})
    for (const bool whole : {false, true})
      for (uint64_t seed = 0; seed <= 8; ++seed) {
        if (!cases.takes_next()) continue;
        SCOPED_TRACE(str(target, whole ? ", multiples of 8" : "", ", seed ", seed));
        const test::RandomConfigs configs(seed);
        CompileOptions options;
        options.open_dims = {{"B", whole ? ir::SizeRange{0, 1 << 20, 8} : ir::SizeRange{}}};
        options.binaries = nvrtc_missing().empty();
        if (seed > 0) options.configs = &configs;
        const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
        // One of short sums may be faster on FMA units.
        std::set<std::string> regions;
        for (const exec::KernelBinary& kernel : executable.kernels)
          if (kernel.template_name == template_name) regions.insert(kernel.region_key);
        EXPECT_GE(regions.size(), 2u);
        const exec::OpenDim& dim = executable.dims.at(0);
        for (const int64_t count : {0, 1, 7, 125})
          exec::check(executable, {{{dim.symbol(), count}}});
      }
}

// A range that leaves one tile: the number of tiles is a number, and its rows are not.
TEST(OpenProducts, OfFewRowsHaveOneTile) {
  for (const auto& [target, template_name] :
       {std::pair{"cuda:sm_80", "gemm_sm80"}, {"cuda:sm_90a", "gemm_sm90"}})
    for (uint64_t seed = 0; seed <= 4; ++seed) {
      const test::RandomConfigs configs(seed);
      CompileOptions options;
      options.open_dims = {{"B", {5, 16, 1}}};
      options.binaries = nvrtc_missing().empty();
      if (seed > 0) options.configs = &configs;
      const exec::Executable executable =
          compile(parse_yaml_graph("tcc: 1\nname: g\ndims: {B: 8}\n"
                                   "inputs: {x: {dtype: bf16, shape: [B, 512]}}\n"
                                   "weights: {w: {dtype: bf16, shape: [384, 512], init: zeros}}\n"
                                   "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
                                   "g.yaml", "."),
                  sched::target_by_name(target), options);
      EXPECT_EQ(usual_templates(executable), Names({template_name})) << seed;
      for (const int64_t size : {5, 16}) exec::check(executable, {{{"B", size}}});
    }
}

TEST(OpenProducts, OfSoFewRowsAreStreamed) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 2}\ninputs: {x: {dtype: bf16, shape: [B, 4096]}}\n"
      "weights: {w: {dtype: bf16, shape: [4096, 4096], init: zeros}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", ".");
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const auto templates = [&](int64_t least, int64_t most) {
      CompileOptions options;
      options.open_dims = {{"B", {.least = least, .most = most, .multiple = 1}}};
      options.binaries = nvrtc_missing().empty();
      const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
      EXPECT_EQ(usual_templates(executable), Names({"gemv"})) << target;
      std::set<std::string> all;
      for (const exec::KernelBinary& kernel : executable.kernels) all.insert(kernel.template_name);
      return all;
    };
    EXPECT_EQ(templates(1, 4), std::set<std::string>({"gemv"})) << target;
    // Matrix units win from five rows on, and a grid of fixed size has work for no rows, too: other
    // sizes have other kernels.
    EXPECT_EQ(templates(1, 5).size(), 2u) << target;
    EXPECT_EQ(templates(0, 4).size(), 2u) << target;
  }
}

// A kernel for one row is there beside that for more, and takes no sizes of rows. One of more rows
// than are usual has workgroups for them.
TEST(OpenProducts, OfOneRowComputeNoOthers) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 4}\ninputs: {x: {dtype: bf16, shape: [B, 4096]}}\n"
      "weights: {w: {dtype: bf16, shape: [4096, 4096], init: zeros}}\n"
      "nodes: [{out: y, op: matmul, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", ".");
  CompileOptions options;
  options.open_dims = {{"B", {.least = 1, .most = 4, .multiple = 1}}};
  options.binaries = nvrtc_missing().empty();
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  std::set<std::string> rows;
  for (const exec::KernelBinary& kernel : compile(graph, target, options).kernels)
    rows.insert(kernel.config.substr(kernel.config.find("rows="), 6));
  EXPECT_TRUE(rows.contains("rows=4")) << testing::PrintToString(rows);
  EXPECT_TRUE(rows.contains("rows=1") || rows.contains("rows=2")) << testing::PrintToString(rows);
}

// Rows beyond those of a workgroup take more workgroups.
TEST(OpenProducts, OfFewRowsMayHaveRowsInSeveralWorkgroups) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 4}\ninputs: {x: {dtype: bf16, shape: [B, 512]}}\n"
      "weights: {w: {dtype: bf16, shape: [4096, 512], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", ".");
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const auto workgroups = [&](int64_t rows, bool is_open) {
    const test::RandomConfigs configs(1, {{"rows", rows},
                                          {"columns", 8},
                                          {"lanes_n", 4},
                                          {"warps_n", 1},
                                          {"warps_k", 4},
                                          {"k_unit", 8},
                                          {"unroll", 1},
                                          {"cluster", 1}});
    CompileOptions options;
    options.configs = &configs;
    options.binaries = nvrtc_missing().empty();
    if (is_open) options.open_dims = {{"B", {.least = 1, .most = 4, .multiple = 1}}};
    const ir::Graph bound = graph.bind({{"B", 4}});
    const exec::Executable executable = compile(is_open ? graph : bound, target, options);
    EXPECT_EQ(usual_templates(executable), Names({"gemv"}));
    return exec::usual_launches(executable)[0]->grid[0].evaluate(
        [](const ir::Atom&) { return std::optional<int64_t>(4); });
  };
  for (const bool is_open : {false, true}) {
    EXPECT_EQ(workgroups(4, is_open), 128) << is_open;
    EXPECT_EQ(workgroups(2, is_open), 256) << is_open;
    EXPECT_EQ(workgroups(1, is_open), 512) << is_open;
  }
}

// Device sources count rows in 32 bits.
TEST(OpenProducts, OfTooManyRowsAreRefused) {
  CompileOptions options;
  options.open_dims = {{"B", {}}};
  options.binaries = false;
  const exec::Executable executable =
      compile(parse_yaml_graph("tcc: 1\nname: g\ndims: {B: 512}\n"
                               "inputs: {x: {dtype: bf16, shape: [B, 4, 64]}}\n"
                               "weights: {w: {dtype: bf16, shape: [64, 64], init: zeros}}\n"
                               "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
                               "g.yaml", "."),
              sched::target_by_name("cuda:sm_80"), options);
  ASSERT_EQ(usual_templates(executable), Names({"gemm_sm80"}));
  exec::check(executable, {{{"B", int64_t{1} << 28}}});
  EXPECT_ERROR(exec::check(executable, {{{"B", int64_t{1} << 29}}}), "a scalar argument");
}

}  // namespace
}  // namespace tcc::backends
