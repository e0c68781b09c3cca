// Loops of generated text, whose ends are expressions of sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/kernel_parse.h"

namespace tcc::backends {
namespace {

// The ends that a text's loops compare with: "for (i64 t = 0; t < END; ++t)".
std::set<std::string> ends_of(const std::string& source) {
  static const std::regex loop(R"(for \(i(?:32|64) (\w+) = 0; (\w+) < ([^;]*); \+\+(\w+)\) \{)");
  std::set<std::string> ends;
  for (std::sregex_iterator at(source.begin(), source.end(), loop), end; at != end; ++at)
    if ((*at)[1] == (*at)[2] && (*at)[1] == (*at)[4]) ends.insert((*at)[3]);
  return ends;
}

// Whether `<` takes all of it: a name, a number, a call, or something in parentheses.
bool is_operand(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && c != ')' && c != '_' && !std::isalnum(static_cast<unsigned char>(c)))
      return false;
  }
  return depth == 0;
}

constexpr const char* kTargets[] = {"cuda:sm_80", "cuda:sm_90a", "vulkan", "vulkan:nvidia"};

TEST(EmitLoops, EndsAreOperands) {
  EXPECT_TRUE(is_operand("(size_n & 7)"));
  EXPECT_FALSE(is_operand("size_n & 7"));
  const std::string text =
      "kernel loops size n grid 1 workgroup 32\n"
      "  b0: out f32[32]\n"
      "  var count: f32 = 0.0\n"
      "  for a < n%8\n"
      "    for b < n%8+1\n"
      "      for c < (n+7)//8\n"
      "        for d < min(n, 5)\n"
      "          for e < n%6\n"
      "            for f < n\n"
      "              count = (count + 1.0)\n"
      "  b0[thread] = count\n";
  for (const char* target : kTargets) {
    CompileOptions options;
    options.binaries = false;
    const std::string source =
        compile_kernel(sched::parse_kernel(text), sched::target_by_name(target), options).source;
    const std::set<std::string> ends = ends_of(source);
    EXPECT_EQ(ends.size(), 6u) << source;
    EXPECT_TRUE(ends.contains("(size_n & 7)")) << source;
    for (const std::string& end : ends) EXPECT_TRUE(is_operand(end)) << target << ": " << end;
  }
}

// The copy of an operand whose lines have an open length: vectors, and what is left of each line.
TEST(EmitLoops, PaddedCopiesOfOpenLinesEndWithTheLines) {
  CompileOptions options;
  options.open_dims = {{"N", {0, 65536, 1}}};
  options.binaries = false;
  const exec::Executable executable =
      compile(parse_yaml_graph("tcc: 1\nname: g\ndims: {N: 1000}\n"
                               "inputs: {x: {dtype: bf16, shape: [4096, 2048]},\n"
                               "  w: {dtype: bf16, shape: [2048, N]}}\n"
                               "nodes: [{out: y, op: matmul, in: [x, w]}]\noutputs: [y]\n",
                               "g.yaml", "."),
              sched::target_by_name("cuda:sm_90a"), options);
  ASSERT_EQ(executable.kernels[0].template_name, "pointwise");
  std::set<std::string> ends;
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (kernel.template_name == "pointwise") ends.merge(ends_of(kernel.source));
  EXPECT_TRUE(std::ranges::any_of(ends, [](const std::string& end) {
    return end.starts_with("(size_N & ") && is_operand(end);
  })) << executable.kernels[0].source;
}

}  // namespace
}  // namespace tcc::backends
