// The facts about a size decide how wide kernels read, and in how many bits they count.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"

namespace tcc::backends {
namespace {

constexpr const char* kPointwise =
    "tcc: 1\ndims: {S: 8}\n"
    "inputs: {x: {dtype: f32, shape: [3, S]}}\n"
    "nodes: [{out: y, op: exp, in: [x]}]\n"
    "outputs: [y]\n";
constexpr const char* kRows =
    "tcc: 1\ndims: {S: 8}\n"
    "inputs: {x: {dtype: f32, shape: [3, S]}}\n"
    "nodes: [{out: y, op: sum, in: [x], dim: [1]}]\n"
    "outputs: [y]\n";
constexpr const char* kProduct =
    "tcc: 1\ndims: {S: 8}\n"
    "inputs: {x: {dtype: f32, shape: [S, 64]}, w: {dtype: f32, shape: [64, 32]}}\n"
    "nodes: [{out: y, op: matmul, in: [x, w]}]\n"
    "outputs: [y]\n";

exec::Executable compiled(const char* text, const char* target, const ir::SizeRange& range) {
  CompileOptions options;
  options.open_dims = {{"S", range}};
  options.dims = {{"S", 1 << 20}};
  options.binaries = false;
  return compile(parse_yaml_graph(text, "g.yaml", "."), sched::target_by_name(target), options);
}

// The widest access, in bytes, of the kernel whose widest access is the narrowest.
int widest(const char* text, const char* target, const ir::SizeRange& range) {
  int least = 16;
  for (const exec::KernelBinary& kernel : compiled(text, target, range).kernels) {
    int most = 0;
    for (const int alignment : kernel.alignments) most = std::max(most, alignment);
    least = std::min(least, most);
  }
  return least;
}

TEST(SizedVectors, MultiplesGiveWiderAccesses) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a", "vulkan"}) {
    EXPECT_EQ(widest(kRows, target, {}), 4) << target;
    EXPECT_EQ(widest(kRows, target, {2, 1 << 24, 2}), 8) << target;
    EXPECT_EQ(widest(kRows, target, {8, 1 << 24, 8}), 16) << target;
  }
}

// Elements behind the last whole vector are done one by one.
TEST(SizedVectors, DenseElementsNeedNoMultiple) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a", "vulkan"})
    EXPECT_EQ(widest(kPointwise, target, {1 << 20, 1 << 24, 1}), 16) << target;
}

TEST(SizedIndices, Have64BitsWhereARangeNeedsThem) {
  const auto is_wide = [](const char* text, const char* target, const ir::SizeRange& range) {
    const exec::Executable executable = compiled(text, target, range);
    // The kernel for all sizes of the range has them; those for some of them may be narrower.
    int wide = 0, narrow = 0;
    for (const exec::KernelBinary& kernel : executable.kernels) {
      const bool has_wide = kernel.source.find("i64 size_S") != std::string::npos;
      const bool has_narrow = kernel.source.find("i32 size_S") != std::string::npos;
      EXPECT_FALSE(has_wide && has_narrow) << kernel.source;
      wide += has_wide;
      narrow += has_narrow;
    }
    EXPECT_GT(wide + narrow, 0);
    return wide > 0;
  };
  for (const char* target : {"cuda:sm_80", "vulkan"})
    for (const char* text : {kPointwise, kProduct}) {
      EXPECT_TRUE(is_wide(text, target, {})) << target;
      EXPECT_TRUE(is_wide(text, target, {0, int64_t{1} << 30, 1})) << target;
      EXPECT_FALSE(is_wide(text, target, {64, 1 << 20, 1})) << target;
    }
}

// Divisions of 64 bits are slow, and NVIDIA's Vulkan driver gets some of them wrong.
TEST(SizedIndices, DivisionsOfWhatFitsHave32Bits) {
  const char* text =
      "tcc: 1\ndims: {S: 2}\n"
      "inputs: {x: {dtype: f32, shape: [S, 64, 8, 8]}, w: {dtype: f32, shape: [64, 64, 3, 3]}}\n"
      "nodes: [{out: y, op: convolution, in: [x, w], padding: [1, 1, 1, 1]}]\n"
      "outputs: [y]\n";
  for (const char* target : {"cuda:sm_80", "vulkan", "vulkan:nvidia"}) {
    const exec::Executable executable = compiled(text, target, {});
    int wide = 0;
    for (const exec::KernelBinary& kernel : executable.kernels) {
      const std::string& source = kernel.source;
      const size_t begin = source.find("load_a(");
      if (begin == std::string::npos) continue;
      const std::string hooks = source.substr(begin, source.find("// Matrix products") - begin);
      if (hooks.find("i64 kk") == std::string::npos) continue;
      ++wide;
      EXPECT_NE(hooks.find("i64(i32(kk) / 192)"), std::string::npos) << hooks;
    }
    EXPECT_GT(wide, 0) << target;
  }
}

}  // namespace
}  // namespace tcc::backends
