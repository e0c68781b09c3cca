// Tests what exact_floats adds to SPIR-V, that SPIRV-Tools' passes leave float arithmetic alone
// then, and what it refuses.
#include "backends/compile/exact_floats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/compile/glsl.h"
#include "backends/compile/process.h"
#include "backends/compile/spirv.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

// Folds that real numbers allow, a loop that could be unrolled, a function that is inlined, and
// every kind of float arithmetic that tcc's kernels have.
const std::string kTricks = R"(#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { float x[]; };
float shifted(float a, float by) { return (a + by) - by; }
void main() {
  uint i = gl_GlobalInvocationID.x;
  float a = x[i];
  float s = a * 0.0 + (a - a) + (a + -a) + a / a + shifted(a, 12582912.0);
  s = s + a * 1e30 * 1e30 * 1e-30;
  [[unroll]] for (int k = 0; k < 4; ++k) s = s * a + float(k);
  double wide = double(a) * 3.0 - double(s);
  vec2 pair = vec2(a, s) * 2.0 + vec2(s, a);
  bool less = !(a < s);
  x[i] = less ? fma(s, a, float(wide)) : sqrt(clamp(s, 0.0, 1.0)) + dot(pair, pair) + floor(a);
}
)";

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kCapability = 17, kExecutionMode = 16, kDecorate = 71, kNoContraction = 42;

bool is_arithmetic(uint32_t op) {
  // FConvert, FNegate, FAdd, FSub, FMul, FDiv, VectorTimesScalar, Dot, FOrdLessThan
  return std::set<uint32_t>{115, 127, 129, 131, 133, 136, 142, 148, 184}.count(op) > 0;
}

struct Module {
  std::map<uint32_t, int> arithmetic;  // how many of each op
  std::set<uint32_t> results, calls, decorated, capabilities;
  std::set<std::pair<uint32_t, uint32_t>> modes;  // and their widths
};

Module read(const std::vector<uint32_t>& words) {
  Module module;
  for (size_t at = kHeaderWords; at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu;
    if (is_arithmetic(op)) {
      ++module.arithmetic[op];
      module.results.insert(words[at + 2]);
    }
    constexpr uint32_t kExtInst = 12;
    if (op == kExtInst) module.calls.insert(words[at + 2]);
    if (op == kDecorate && words[at + 2] == kNoContraction) module.decorated.insert(words[at + 1]);
    if (op == kCapability) module.capabilities.insert(words[at + 1]);
    if (op == kExecutionMode && words[at] >> 16 == 4)
      module.modes.insert({words[at + 2], words[at + 3]});
  }
  return module;
}

class ExactFloats : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = glsl_compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  }
  static std::vector<uint32_t> compile(const GlslOptions& options) {
    return spirv_words(compile_glsl(kTricks, "tricks", options));
  }
};

TEST_F(ExactFloats, EveryResultIsDecorated) {
  const Module plain = read(compile({.optimize = false}));
  EXPECT_TRUE(plain.decorated.empty());
  const Module module = read(compile({.optimize = false, .exact_floats = sched::FloatControls{}}));
  EXPECT_EQ(module.arithmetic, plain.arithmetic);
  std::set<uint32_t> expected = module.results;
  expected.insert(module.calls.begin(), module.calls.end());
  EXPECT_EQ(module.decorated, expected);
  EXPECT_TRUE(module.modes.empty());
}

// Without the decoration the passes fold some of it, which shows that the test can fail.
TEST_F(ExactFloats, PassesFoldNothingAndKeepTheDecoration) {
  if (!environment("TCC_GLSLC").empty()) GTEST_SKIP() << "another process compiles, without passes";
  const auto total = [](const Module& module) {
    int count = 0;
    for (const auto& [op, times] : module.arithmetic) count += times;
    return count;
  };
  const Module before = read(compile({.optimize = false, .exact_floats = sched::FloatControls{}}));
  const Module after = read(compile({.exact_floats = sched::FloatControls{}}));
  EXPECT_EQ(total(after), total(before));
  EXPECT_TRUE(std::ranges::includes(after.decorated, after.results));
  EXPECT_TRUE(std::ranges::includes(after.decorated, after.calls));
  EXPECT_LT(total(read(compile({}))), total(before));
}

TEST_F(ExactFloats, SetsTheModesThatTheDeviceHas) {
  sched::FloatControls controls;
  controls.keep_special = 16 | 32 | 64;
  controls.keep_denormals = 32;
  const std::vector<uint8_t> code = compile_glsl(kTricks, "tricks", {.exact_floats = controls});
  EXPECT_EQ(validate_spirv(code), "");
  const Module module = read(spirv_words(code));
  const std::set<std::pair<uint32_t, uint32_t>> modes = {
      {4459, 32}, {4461, 16}, {4461, 32}, {4461, 64}};
  EXPECT_EQ(module.modes, modes);
  EXPECT_TRUE(module.capabilities.count(4464) && module.capabilities.count(4466));
  EXPECT_FALSE(module.capabilities.count(4467));
}

TEST_F(ExactFloats, DecoratesOnce) {
  const std::vector<uint32_t> once =
      compile({.optimize = false, .exact_floats = sched::FloatControls{}});
  EXPECT_EQ(exact_floats(once, {}), once);
}

TEST_F(ExactFloats, RefusesWhatIsNoModule) {
  std::vector<uint32_t> words = compile({.optimize = false});
  EXPECT_THROW(exact_floats(std::span(words).first(3), {}), Error);
  EXPECT_THROW(exact_floats(std::span(words).first(kHeaderWords), {}), Error);  // no entry point
  EXPECT_THROW(exact_floats(std::span(words).first(kHeaderWords + 1), {}), Error);  // cut off
  std::vector<uint32_t> old = words;
  old[1] = 0x00010300;
  EXPECT_THROW(exact_floats(old, {}), Error);
  words[kHeaderWords] &= 0xffffu;  // an instruction of no words
  EXPECT_THROW(exact_floats(words, {}), Error);
}

}  // namespace
}  // namespace tcc::backends
