// The template of attention on Vulkan's cooperative matrices without a device: which regions it
// takes on the units of several vendors, and that its kernels are valid SPIR-V.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "backends/compile/glsl.h"
#include "backends/compile/spirv.h"
#include "backends/device/common/attention_coopmat_shape.h"
#include "backends/device_source.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/coopmat_devices.h"
#include "tests/random_attention.h"
#include "tests/random_configs.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

using test::AttentionSizes;
using test::coopmat_devices;
using test::coopmat_target;
using test::CoopmatDevice;

constexpr AttentionSizes kLong = {2, 8, 8, 2048, 2048, 64, 64};

test::AttentionCase with_op(const AttentionSizes& s, std::string_view dtype,
                            std::string_view attributes = "") {
  return {"attention", test::attention_inputs(s, dtype),
          str("  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]",
              s.shared == s.heads ? "" : ", enable_gqa: true", attributes, "}\n")};
}

exec::Executable compiled(const test::AttentionCase& c, const sched::Target& target,
                          backends::CompileOptions options = {}) {
  options.binaries = false;
  return backends::compile(test::attention_graph(c), target, options);
}

std::string template_of(const test::AttentionCase& c, const sched::Target& target) {
  return compiled(c, target).kernels.front().template_name;
}

using AttentionCoopmatTemplate = test::WithGlslCompiler;

TEST_F(AttentionCoopmatTemplate, TakesWhatTheUnitsMultiply) {
  use(true);
  for (const CoopmatDevice& device : coopmat_devices()) {
    SCOPED_TRACE(device.name);
    const sched::Target target = coopmat_target(device);
    EXPECT_EQ(template_of(with_op(kLong, "f16"), target), "attention_coopmat");
    EXPECT_EQ(template_of(with_op(kLong, "f16", ", is_causal: true"), target), "attention_coopmat");
    EXPECT_EQ(template_of(with_op(kLong, "bf16"), target) == "attention_coopmat",
              std::string(device.name) == "nvidia");
    EXPECT_NE(template_of(with_op(kLong, "f32"), target), "attention_coopmat");
    // A matrix has one row of one query, unless heads share keys: a GPU waits for keys, not for it.
    EXPECT_EQ(
        template_of(with_op({1, 8, 8, 1, 4096, 64, 64}, "f16"), target) == "attention_coopmat",
        !target.is_cpu);
    EXPECT_EQ(template_of(with_op({1, 32, 4, 2, 4096, 64, 64}, "f16"), target),
              "attention_coopmat");
  }
  // Those of vision transformers and of encoders of text.
  const sched::Target nvidia = coopmat_target(coopmat_devices().front());
  EXPECT_EQ(template_of(with_op({64, 12, 12, 197, 197, 64, 64}, "f16"), nvidia),
            "attention_coopmat");
  EXPECT_EQ(template_of(with_op({32, 12, 12, 128, 128, 64, 64}, "f16"), nvidia),
            "attention_coopmat");
  for (const char* unit :
       {"coopmat 16x16x16 f16 f16 f16 f16", "coopmat 16x16x32 f16 f16 f32 f32 workgroup"})
    EXPECT_NE(template_of(with_op(kLong, "f16"), coopmat_target({"nvidia", 32, {unit}})),
              "attention_coopmat");
}

TEST_F(AttentionCoopmatTemplate, TakesAllDepths) {
  use(true);
  ::setenv("TCC_TEMPLATES", "-gemm_coopmat", 1);  // products of long rows may be faster
  for (const CoopmatDevice& device : coopmat_devices())
    for (const auto& [depth, depth_v] :
         {std::pair(72, 8), std::pair(128, 128), std::pair(40, 256), std::pair(256, 256)}) {
      // Registers of the others' threads are too few for so many results.
      if (depth_v == 256 && std::string(device.name) != "nvidia") continue;
      AttentionSizes sizes = kLong;
      sizes.depth = depth;
      sizes.depth_v = depth_v;
      EXPECT_EQ(template_of(with_op(sizes, "f16"), coopmat_target(device)), "attention_coopmat")
          << device.name << " " << depth << " " << depth_v;
    }
  ::unsetenv("TCC_TEMPLATES");
}

// Many queries share what a workgroup reads, by the largest matrices.
TEST_F(AttentionCoopmatTemplate, DefaultsHaveManyRows) {
  use(true);
  const sched::Target target = coopmat_target(coopmat_devices().front());
  for (const int64_t depth : {64, 128}) {
    AttentionSizes sizes = kLong;
    sizes.depth = sizes.depth_v = depth;
    const test::Recorder seen;
    backends::CompileOptions options;
    options.configs = &seen;
    compiled(with_op(sizes, "f16"), target, options);
    const sched::Config& config = seen.config;
    EXPECT_GE(config["block_q"], 64) << config.to_string();
    EXPECT_GE(config["block_k"], 32) << config.to_string();
    EXPECT_EQ(config["unit_n"] * config["unit_k"], 256) << config.to_string();
    EXPECT_EQ(config["split_keys"], 1) << config.to_string();
  }
}

TEST_F(AttentionCoopmatTemplate, RefusesWhereTheCompilerIsTooOld) {
  use(false);
  const sched::Target target = coopmat_target(coopmat_devices().front());
  const test::Recorder seen;
  backends::CompileOptions options;
  options.configs = &seen;
  compiled(with_op(kLong, "f16"), target, options);
  ASSERT_FALSE(seen.passed.empty());
}

// Two keys are one pair, whose number is no axis of the mask's loads.
TEST_F(AttentionCoopmatTemplate, TakesMasksOfTwoKeys) {
  use(true);
  for (const CoopmatDevice& device : coopmat_devices()) {
    test::AttentionCase masked = {
        "attention",
        test::attention_inputs({1, 4, 4, 64, 2, 64, 64}, "f16") +
            "  m: {dtype: bool, shape: [64, 2]}\n",
        "  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v, m]}\n"};
    EXPECT_FALSE(compiled(masked, coopmat_target(device)).kernels.empty()) << device.name;
  }
}

TEST_F(AttentionCoopmatTemplate, SplitsKeysOfFewQueries) {
  use(true);
  const sched::Target target = coopmat_target(coopmat_devices().front());
  EXPECT_EQ(compiled(with_op({1, 32, 4, 2, 16384, 128, 128}, "f16"), target).kernels.size(), 2U);
  EXPECT_EQ(compiled(with_op(kLong, "f16"), target).kernels.size(), 1U);
}

// Where the device and the compiler have conversions.
TEST_F(AttentionCoopmatTemplate, WeightsStayInRegistersWhereTheyConvert) {
  const auto text_of = [](const CoopmatDevice& device, bool converts, const char* attributes = "") {
    sched::Target target = coopmat_target(device);
    target.matrix_conversions = converts;
    return compiled(with_op(kLong, "f16", attributes), target).kernels.front().source;
  };
  const auto uses_conversions = [](const std::string& text) {
    const bool defined = text.find("#define params_converts 1\n") != text.npos;
    EXPECT_EQ(text.find("#extension GL_NV_cooperative_matrix2 : require\n") != text.npos, defined);
    return defined;
  };
  use(true);
  const CoopmatDevice& nvidia = coopmat_devices().front();
  EXPECT_TRUE(uses_conversions(text_of(nvidia, true)));
  EXPECT_FALSE(uses_conversions(text_of(nvidia, false)));
  const char* dropout = ", dropout_p: 0.5, seed: 3";
  EXPECT_TRUE(uses_conversions(text_of(nvidia, true, dropout)));
  EXPECT_FALSE(uses_conversions(
      text_of({"nvidia", 32, {"coopmat 16x16x16 f16 f16 f32 f32"}}, true, dropout)))
      << "a hook changes them, and which ones a thread has is not known";
  // Operands have twice the columns of sums.
  EXPECT_FALSE(
      uses_conversions(text_of({"nvidia", 32, {"coopmat 16x8x16 f16 f16 f32 f32"}}, true)));
}

// Hooks change scores and weights in registers where the places of their elements are known.
TEST_F(AttentionCoopmatTemplate, HooksTakePairsOfKnownElements) {
  use(true);
  const auto define_of = [](const std::string& text, const std::string& name) {
    const std::string before = "#define params_" + name + " ";
    const size_t at = text.find(before) + before.size();
    return text.substr(at, text.find('\n', at) - at);
  };
  const test::AttentionCase capped = {
      "capped", test::attention_inputs(kLong, "f16") + "  m: {dtype: f16, shape: [2048, 2048]}\n",
      "  - {out: t, op: transpose, in: [k], dim0: -2, dim1: -1}\n"
      "  - {out: s, op: matmul, in: [q, t]}\n"
      "  - {out: b, op: div, in: [s, 400.0]}\n"
      "  - {out: c, op: tanh, in: [b]}\n"
      "  - {out: d, op: mul, in: [c, 50.0]}\n"
      "  - {out: e, op: add, in: [d, m]}\n"
      "  - {out: p, op: softmax, in: [e], dim: -1}\n"
      "  - {out: a, op: matmul, in: [p, v]}\n"};
  CoopmatDevice nvidia = coopmat_devices().front();
  const auto text_of = [&] {
    return compiled(capped, coopmat_target(nvidia)).kernels.front().source;
  };
  const std::string pairs = text_of();
  EXPECT_EQ(define_of(pairs, "pairs"), "1");
  EXPECT_EQ(define_of(pairs, "score_keys"), "2");
  EXPECT_EQ(define_of(pairs, "held"), "1") << "two elements of 16 bits";
  EXPECT_NE(define_of(pairs, "small_bits"), "0");
  EXPECT_NE(pairs.find("#define tcc_tanh_f32 tcc_glsl_tanh_f32\n"), pairs.npos);
  std::erase_if(nvidia.units,
                [](std::string_view unit) { return unit.starts_with("coopmat_mma"); });
  const std::string through_memory = text_of();
  EXPECT_EQ(define_of(through_memory, "pairs"), "0");
  EXPECT_EQ(define_of(through_memory, "score_keys"), "4");
}

// Workgroups of a unit of NVIDIA's share 48 KiB.
TEST(AttentionCoopmatShape, AreasHaveRoomForWhatPassesThroughMemory) {
  namespace coopmat = kernels::attention_coopmat;
  kernels::AttentionCoopmat a;
  a.block_k = 32;
  a.staged = 1;
  a.stages = 2;
  a.converts = true;
  EXPECT_EQ(coopmat::area_words(a), 16 * 16 / 4) << "a matrix of sums";
  EXPECT_LE(2 * coopmat::shared_bytes(a), 48 * 1024);
  EXPECT_EQ(coopmat::areas_at(a), 2 * coopmat::slot_words(a));
  a.score_keys = 2;
  a.pairs = true;
  EXPECT_EQ(coopmat::area_words(a), 16 * 16 / 4) << "scores stay in registers";
  a.score_keys = 4;
  a.pairs = false;
  EXPECT_EQ(coopmat::area_words(a), 16 * (32 / 4 + 1)) << "lines of scores";
  a.converts = false;
  EXPECT_EQ(coopmat::area_words(a), 16 * (32 / 8 + 1) + 16 * (32 / 4 + 1)) << "weights, too";
}

// NVIDIA's compiler does not unroll two loops around a third, and then their matrices lie in
// memory.
TEST(AttentionCoopmatSource, LoopsStandInOneUnrolledLoopAtMost) {
  for (const char* path : {"glsl/attention_coopmat.comp", "glsl/attention_coopmat_tile.body"}) {
    std::istringstream source(backends::device_source(path));
    std::vector<std::pair<size_t, bool>> around;  // indentation, and whether it is an unrolled loop
    for (std::string line; std::getline(source, line);) {
      const size_t indent = line.find_first_not_of(' ');
      if (indent == std::string::npos || line[indent] == '#') continue;
      while (!around.empty() && around.back().first >= indent) around.pop_back();
      const auto unrolled =
          std::ranges::count_if(around, [](const auto& one) { return one.second; });
      EXPECT_TRUE(unrolled <= 1 || !line.substr(indent).starts_with("[[dont_unroll]]"))
          << path << ": " << line;
      around.emplace_back(indent, line.substr(indent).starts_with("[[unroll]]"));
    }
  }
}

// Defaults and random configs.
TEST_F(AttentionCoopmatTemplate, KernelsAreValid) {
  restore();
  for (const char* extension : {"GL_KHR_cooperative_matrix", "GL_EXT_bfloat16"})
    if (const std::string why = backends::glsl_lacking(extension); !why.empty())
      GTEST_SKIP() << why;
  if (backends::environment("TCC_SPIRV_VAL").empty())
    GTEST_SKIP() << "TCC_SPIRV_VAL names no spirv-val that knows cooperative matrices";
  uint64_t seed = 1;
  for (const CoopmatDevice& device : coopmat_devices())
    for (const char* dtype : {"f16", "bf16"})
      for (int round = 0; round < 4; ++round) {
        const test::AttentionCase c = round == 0   ? with_op(kLong, dtype)
                                      : round == 1 ? with_op({1, 8, 2, 3, 700, 72, 40}, dtype)
                                                   : test::AttentionDraw(seed).draw(dtype);
        const test::RandomConfigs configs(seed++);
        backends::CompileOptions options;
        if (round % 2 == 1) options.configs = &configs;
        const exec::Executable executable =
            backends::compile(test::attention_graph(c), coopmat_target(device), options);
        for (const exec::KernelBinary& kernel : executable.kernels)
          EXPECT_EQ(backends::validate_spirv(kernel.code), "")
              << device.name << " " << kernel.template_name << " " << kernel.config;
      }
}

}  // namespace
}  // namespace tcc
