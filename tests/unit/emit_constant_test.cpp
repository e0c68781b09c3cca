// Numbers in generated text.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/text.h"

namespace tcc {
namespace {

std::string source_of(const std::string& graph, const std::string& target) {
  backends::CompileOptions options;
  options.binaries = false;
  const exec::Executable executable =
      backends::compile(ir::parse_graph(graph), sched::target_by_name(target), options);
  return executable.kernels.at(0).source;
}

std::string times(const std::string& dtype, const std::string& number) {
  return "graph @g {\n  %x: " + dtype + "[8] = input\n  %c: " + dtype + "[] = const " + number +
         "\n  %y: " + dtype + "[8] = mul(%x, %c)\n  return %y\n}\n";
}

// In CUDA C++ f64(0.01f) is 0.01 rounded to f32, in GLSL it may be either.
TEST(EmitConstant, NumbersThatF32DoesNotHoldKeepAllBitsInF64) {
  for (const std::string target : {"cuda:sm_90a", "vulkan:nvidia"}) {
    EXPECT_NE(source_of(times("f64", "0.01"), target).find("F64_BITS(0x3f847ae1u, 0x47ae147bu)"),
              std::string::npos)
        << target;
    EXPECT_NE(source_of(times("f64", "0.75"), target).find("F64(0.75f)"), std::string::npos);
    EXPECT_NE(source_of(times("f32", "0.01"), target).find("0.01f"), std::string::npos);
  }
}

}  // namespace
}  // namespace tcc
