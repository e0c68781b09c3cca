// GLSL to SPIR-V: compiling, validating, optimising, error messages, and how long a small kernel
// takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <span>
#include <thread>

#include "backends/compile/glsl.h"
#include "backends/compile/process.h"
#include "backends/compile/spirv.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

const std::string kernel = R"(#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer In { float x[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) writeonly buffer Out { uint16_t x[]; };
layout(push_constant, scalar) uniform Arguments { In a; Out b; } arguments;
float square(float x) { return x * x; }
void main() {
  uint i = gl_GlobalInvocationID.x;
  float sum = square(arguments.a.x[i]);
  for (uint mask = 1; mask < 8; mask *= 2) sum += subgroupShuffleXor(sum, mask);
  arguments.b.x[i] = uint16_t(floatBitsToUint(sum) >> 16);
}
)";

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    return error.what();
  }
  return "";
}

class GlslTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = glsl_compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(GlslTest, CompilesValidCode) {
  const auto plain = compile_glsl(kernel, "kernel", {.optimize = false});
  const auto optimised = compile_glsl(kernel, "kernel");
  EXPECT_EQ(validate_spirv(plain), "");
  EXPECT_EQ(validate_spirv(optimised), "");
  EXPECT_EQ(spirv_words(optimised)[1], 0x00010500u);
  EXPECT_EQ(compile_glsl(kernel, "kernel"), optimised);
  EXPECT_EQ(validate_spirv(optimize_spirv(plain)), "");
  EXPECT_FALSE(glsl_compiler_id().empty());
}

// One function: a label, then three instructions, or what damage makes of them.
TEST(SpirvTest, CountsInstructionsOfFunctions) {
  const auto op = [](uint32_t length, uint32_t code) { return length << 16 | code; };
  const std::vector<uint32_t> module = {
      0x07230203, 0x00010500, 0,
      9,          0,  // header
      op(2, 17),  1,  // OpCapability
      op(2, 19),  1,          op(3, 33),
      2,          1,  // types
      op(5, 54),  1,          3,
      0,          2,  // OpFunction
      op(2, 248), 4,          op(1, 1),
      op(1, 1),   op(1, 253),  // OpLabel, OpUndef, OpUndef, OpReturn
      op(1, 56)};              // OpFunctionEnd
  EXPECT_EQ(spirv_instructions(spirv_bytes(module)), 4);
  for (size_t size = 0; size < module.size(); ++size) {
    const std::span<const uint32_t> part(module.data(), size);
    try {
      EXPECT_LE(spirv_instructions(spirv_bytes(part)), 4);
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::device); }
  }
  for (const uint32_t length : {0u, 9u, 0xffffu}) {
    std::vector<uint32_t> bad = module;
    bad[module.size() - 2] = op(length, 253);
    EXPECT_THROW(spirv_instructions(spirv_bytes(bad)), Error) << length;
  }
}

TEST_F(GlslTest, AFunctionThatDoesMoreHasMoreInstructions) {
  const std::string more =
      std::regex_replace(kernel, std::regex("return x \\* x;"), "return sin(x * x) + cos(x);");
  const int64_t here = spirv_instructions(compile_glsl(kernel, "kernel"));
  EXPECT_GT(here, 20);
  EXPECT_GE(spirv_instructions(compile_glsl(more, "kernel")), here + 3);  // two calls, a sum
}

TEST_F(GlslTest, ASmallKernelCompilesInWellUnder50Milliseconds) {
#if defined(TCC_SANITIZE)
  GTEST_SKIP() << "sanitizers are slow";
#endif
  if (!environment("TCC_GLSLC").empty()) GTEST_SKIP() << "another process compiles";
  compile_glsl(kernel, "warm_up");
  auto best = std::chrono::duration<double, std::milli>::max();
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    compile_glsl(kernel, "kernel");
    best = std::min<std::chrono::duration<double, std::milli>>(
        best, std::chrono::steady_clock::now() - start);
  }
  RecordProperty("best_ms", std::to_string(best.count()));
  EXPECT_LT(best.count(), 50);
}

TEST_F(GlslTest, AnErrorNamesKernelAndLine) {
  const std::string source =
      "#version 450\nlayout(local_size_x = 1) in;\nvoid main() { undefined_name = 1; }\n";
  const std::string message = message_of([&] { compile_glsl(source, "relu_0"); });
  EXPECT_NE(message.find("kernel relu_0 does not compile:\n"), std::string::npos) << message;
  EXPECT_NE(message.find(":3:"), std::string::npos) << message;
  EXPECT_NE(message.find("undefined_name"), std::string::npos) << message;
}

TEST_F(GlslTest, TheSourceOfAnErrorIsWrittenOnlyWhenAsked) {
  const TemporaryFolder folder;
  const std::string source = "#version 450\nvoid main() { x; }\n";
  const std::string message =
      message_of([&] { compile_glsl(source, "a/b c", {.dump_folder = folder.path()}); });
  const fs::path dumped = folder.path() / "a_b_c.comp";
  EXPECT_NE(message.find("(source in " + dumped.string() + ")"), std::string::npos) << message;
  EXPECT_EQ(read_file(dumped), source);
}

TEST_F(GlslTest, ManyErrorLinesAreCut) {
  std::string source = "#version 450\nvoid main() {\n";
  for (int i = 0; i < 100; ++i) source += "undefined_" + std::to_string(i) + " = 1;\n";
  const std::string message = message_of([&] { compile_glsl(source + "}\n", "long"); });
  EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 8) << message;
}

TEST_F(GlslTest, CompilesInSeveralThreads) {
  const auto expected = compile_glsl(kernel, "kernel");
  std::vector<std::vector<uint8_t>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&result] { result = compile_glsl(kernel, "kernel"); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST_F(GlslTest, DamagedModulesAreRefused) {
  auto code = compile_glsl(kernel, "kernel");
  code.resize(code.size() - 8);
  EXPECT_NE(validate_spirv(code), "");
  EXPECT_NE(
      message_of([] { spirv_words(std::vector<uint8_t>(24, 1)); }).find("not a SPIR-V module"),
      std::string::npos);
  EXPECT_NE(message_of([] { spirv_words(std::vector<uint8_t>(7)); }).find("7 bytes"),
            std::string::npos);
}

// A stand-in for glslc that an environment variable names.
class GlslcTest : public ::testing::Test {
 protected:
  void use(const std::string& script) {
    const fs::path program = folder_.path() / "glslc";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(program, fs::perms::owner_all);
    ::setenv("TCC_GLSLC", program.c_str(), 1);
  }
  void SetUp() override { before_ = environment("TCC_GLSLC"); }
  void TearDown() override {
    before_.empty() ? ::unsetenv("TCC_GLSLC") : ::setenv("TCC_GLSLC", before_.c_str(), 1);
  }
  TemporaryFolder folder_;

 private:
  std::string before_;
};

TEST_F(GlslcTest, TakesTheProgramsOutput) {
  use("if [ $1 = --version ]; then echo fake 1.2; exit; fi\n"
      "while [ $# -gt 1 ]; do [ $1 = -o ] && out=$2; shift; done; cat $1 > $out");
  const auto code = compile_glsl("some text", "copy");
  EXPECT_EQ(std::string(code.begin(), code.end()), "some text");
  EXPECT_EQ(glsl_compiler_missing(), "");
  EXPECT_EQ(glsl_compiler_id(), "glslc fake 1.2\n");
}

TEST_F(GlslcTest, ReportsItsMessages) {
  use("echo x.comp:3: error: nonsense >&2; exit 1");
  EXPECT_EQ(message_of([] { compile_glsl("text", "k"); }),
            "kernel k does not compile:\nx.comp:3: error: nonsense");
  EXPECT_NE(glsl_compiler_missing(), "");
}

TEST_F(GlslcTest, AProgramThatIsNotThereIsAnError) {
  ::setenv("TCC_GLSLC", "/nowhere/glslc", 1);
  EXPECT_NE(message_of([] { compile_glsl("text", "k"); }).find("cannot run /nowhere/glslc"),
            std::string::npos);
  EXPECT_NE(glsl_compiler_missing().find("/nowhere/glslc"), std::string::npos);
  EXPECT_EQ(glsl_lacking("GL_KHR_cooperative_matrix"), glsl_compiler_missing());
}

// The glslc in PATH compiles what libshaderc is too old for, and nothing else.
TEST_F(GlslcTest, TheOneInPathGetsNewerSources) {
  use("while [ $# -gt 1 ]; do [ $1 = -o ] && out=$2; shift; done; cat $1 > $out");
  ::unsetenv("TCC_GLSLC");
  if (const std::string why = glsl_compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  const std::string path = environment("PATH"), newer = "GL_KHR_cooperative_matrix";
  const std::string text =
      "#version 450\n#extension " + newer + " : require\n" + kernel.substr(kernel.find('\n') + 1);
  ::setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(glsl_newer_compiler(), "");
  const bool is_old = !glsl_lacking(newer).empty();
  if (is_old)
    EXPECT_THROW(compile_glsl(text, "newer"), Error);
  else
    EXPECT_NO_THROW(spirv_words(compile_glsl(text, "newer")));
  ::setenv("PATH", (folder_.path().string() + ":" + path).c_str(), 1);
  EXPECT_NE(glsl_newer_compiler().find(folder_.path().string()), std::string::npos);
  EXPECT_EQ(glsl_lacking(newer), "");
  const auto code = compile_glsl(text, "newer"), older = compile_glsl(kernel, "older");
  EXPECT_EQ(std::string(code.begin(), code.end()) == text, is_old);
  EXPECT_NO_THROW(spirv_words(older));
  ::setenv("PATH", path.c_str(), 1);
}

TEST(ProcessTest, CapturesOutputAndExitCode) {
  const ProcessResult result =
      run_process({"sh", "-c", "echo out; echo err >&2; exit 3"}, std::chrono::seconds(10));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.output, "out\nerr\n");
}

TEST(ProcessTest, KillsTheWholeGroupAfterItsTime) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result =
      run_process({"sh", "-c", "sleep 60 & sleep 60"}, std::chrono::milliseconds(50));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ProcessTest, ASignalIsAnExitCode) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, std::chrono::seconds(10)).exit_code, 137);
}

TEST(ProcessTest, MuchOutputIsCutAndDoesNotBlock) {
  const ProcessResult result =
      run_process({"sh", "-c", "head -c 3000000 /dev/zero; exit 5"}, std::chrono::seconds(30));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.output.size(), size_t{1} << 20);
  EXPECT_TRUE(result.cut);
}

TEST(ProcessTest, EndlessOutputEndsWithItsTime) {
  const ProcessResult result = run_process({"yes"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(result.timed_out);
}

TEST(ProcessTest, InputErrorsAndFolderAreItsOwn) {
  const std::string input(300000, 'x');
  const ProcessResult result = run_process(
      {"sh", "-c", "wc -c; pwd >&2"}, {.separate_errors = true, .input = input, .folder = "/"});
  EXPECT_EQ(result.output, "300000\n");
  EXPECT_EQ(result.errors, "/\n");
}

TEST(ProcessTest, ItsCallerEndsIt) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(
      {"sleep", "60"}, {.timeout = std::chrono::minutes(1), .cancelled = [] { return true; }});
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace tcc::backends
