// The template of products on Vulkan's cooperative matrices without a device: which regions it
// takes, on the units of several vendors, and that its kernels are valid SPIR-V.
#include <gtest/gtest.h>

#include "backends/compile/glsl.h"
#include "backends/compile/spirv.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/coopmat_devices.h"
#include "tests/random_configs.h"

namespace tcc {
namespace {

using Device = test::CoopmatDevice;
using test::coopmat_devices;

sched::Target target_of(const Device& device) { return test::coopmat_target(device); }
// The first device with the units and rates of an H200, to which the cost model is fitted.
sched::Target large_nvidia() {
  sched::Target target = target_of(coopmat_devices()[0]);
  target.compute_units = 132;
  target.bandwidth = 4.0e12;
  target.flops_f32 = 60.0e12;
  target.flops_matrix = 640.0e12;
  return target;
}

std::string product(const char* dtype, const char* out, int64_t m, int64_t n, int64_t k,
                    bool b_turned) {
  return str("tcc: 1\nname: product\ninputs:\n  a: {dtype: ", dtype, ", shape: [", m, ", ", k,
             "]}\n  b: {dtype: ", dtype, ", shape: [", b_turned ? n : k, ", ", b_turned ? k : n,
             "]}\nnodes: [{out: y, op: ", b_turned ? "linear" : "matmul", ", in: [a, b]",
             *out ? str(", out_dtype: ", out) : "", "}]\noutputs: [y]\n");
}

exec::Executable compiled(const std::string& text, const sched::Target& target,
                          const sched::ConfigSource* configs = nullptr, bool binaries = false) {
  backends::CompileOptions options;
  options.binaries = binaries;
  options.configs = configs;
  return backends::compile(parse_yaml_graph(text, "product.yaml", "."), target, options);
}
std::string template_of(const std::string& text, const sched::Target& target) {
  return compiled(text, target).kernels.back().template_name;
}

using CoopmatTemplate = test::WithGlslCompiler;

TEST_F(CoopmatTemplate, TakesWhatTheUnitsMultiply) {
  use(true);
  for (const Device& device : coopmat_devices()) {
    const sched::Target target = target_of(device);
    SCOPED_TRACE(device.name);
    for (const bool turned : {false, true}) {
      EXPECT_EQ(template_of(product("f16", "", 512, 512, 512, turned), target), "gemm_coopmat");
      EXPECT_EQ(template_of(product("i8", "i32", 512, 512, 512, turned), target), "gemm_coopmat");
    }
    const bool bf16 = std::string(device.name) == "nvidia";
    EXPECT_EQ(template_of(product("bf16", "", 512, 512, 512, true), target),
              bf16 ? "gemm_coopmat" : "contraction");
    EXPECT_EQ(template_of(product("u8", "u32", 512, 512, 512, true), target),
              bf16 ? "gemm_coopmat" : "contraction");
    EXPECT_EQ(template_of(product("f32", "", 512, 512, 512, true), target), "contraction");
    EXPECT_EQ(template_of(product("f16", "", 512, 512, 7, true), target), "contraction");
    EXPECT_EQ(template_of(product("f16", "", 1, 4096, 4096, true), target), "gemv");
  }
  // Units whose sums saturate, are narrow or are a workgroup's are not served.
  for (const char* unit :
       {"coopmat 16x16x16 f16 f16 f16 f16", "coopmat 16x16x32 f16 f16 f32 f32 workgroup"}) {
    const sched::Target target = target_of({"nvidia", 32, {unit}});
    EXPECT_EQ(template_of(product("f16", "", 512, 512, 512, true), target), "contraction");
  }
  const sched::Target saturating =
      target_of({"nvidia", 32, {"coopmat 16x16x32 i8 i8 i32 i32 saturating"}});
  EXPECT_EQ(template_of(product("i8", "i32", 512, 512, 512, true), saturating), "contraction");
}

TEST_F(CoopmatTemplate, RefusesWhereTheCompilerIsTooOld) {
  use(false);
  const sched::Target target = target_of(coopmat_devices()[0]);
  EXPECT_EQ(template_of(product("f16", "", 512, 512, 512, true), target), "contraction");
  EXPECT_NE(backends::glsl_lacking("GL_KHR_cooperative_matrix").find("TCC_GLSLC"),
            std::string::npos);
  const test::Recorder seen;
  compiled(product("f16", "", 512, 512, 512, true), target, &seen);
  const auto reasons = seen.passed;
  const auto begin_with = [&](std::string_view text) {
    return std::ranges::count_if(
        reasons, [&](const std::string& reason) { return reason.starts_with(text); });
  };
  EXPECT_EQ(begin_with("gemm_coopmat: TCC_GLSLC: "), 1) << testing::PrintToString(reasons);
  EXPECT_EQ(begin_with("gemm_"), 1) << testing::PrintToString(reasons);
  EXPECT_EQ(begin_with("gemv: "), 1) << testing::PrintToString(reasons);
  use(true);
  EXPECT_EQ(template_of(product("f16", "", 512, 512, 512, true), target), "gemm_coopmat");
}

// By the registers of RADV's compiler: 64 x 64 of a subgroup fit, unless elements come one by one.
TEST_F(CoopmatTemplate, DefaultsFitRegisters) {
  use(true);
  const auto elements = [&](const sched::Target& target, bool along_k) {
    const test::Recorder seen;
    compiled(product("f16", "", 4096, 4096, 4096, along_k), target, &seen);
    const sched::Config& config = seen.config;
    return config["block_m"] * config["block_n"] / config["subgroups_m"] / config["subgroups_n"];
  };
  EXPECT_EQ(elements(large_nvidia(), true), 64 * 64);
  EXPECT_EQ(elements(large_nvidia(), false), 64 * 64);
  EXPECT_EQ(elements(target_of(coopmat_devices()[1]), true), 64 * 64);
  EXPECT_LE(elements(target_of(coopmat_devices()[1]), false), 64 * 32);
  EXPECT_LE(elements(target_of(coopmat_devices()[2]), false), 64 * 32);
}

TEST_F(CoopmatTemplate, FewTilesShareTheirK) {
  use(true);
  const auto slices = [&](const char* name, int64_t m, int64_t n, int64_t k) {
    const auto& devices = coopmat_devices();
    const auto device = std::ranges::find(devices, std::string_view(name), &Device::name);
    const test::Recorder seen;
    compiled(product("f16", "", m, n, k, true), target_of(*device), &seen);
    return seen.config["slices"];
  };
  EXPECT_GT(slices("nvidia", 64, 512, 4608), 1);
  EXPECT_EQ(slices("nvidia", 4096, 4096, 4096), 1);
  EXPECT_EQ(slices("lavapipe", 64, 512, 4608), 1);
}

// Which elements of a matrix a thread holds is a fact of the device.
TEST_F(CoopmatTemplate, DirectOperandsNeedFragments) {
  use(true);
  const sched::Target nvidia = large_nvidia();
  const auto kernel = [&](const sched::Target& target, int64_t m, bool along_k) {
    return compiled(product("f16", "", m, 768, 3072, along_k), target).kernels.at(0);
  };
  const std::string fragments = "coopmat_mma 16x16x16 f16 f16 f32 f32";
  for (const auto& [m, direct] : {std::pair{12608, "direct=1"}, {197, "direct=2"}}) {
    const exec::KernelBinary found = kernel(nvidia, m, true);
    EXPECT_NE(found.config.find(direct), std::string::npos) << found.config;
    EXPECT_EQ(std::ranges::count(found.matrix_units, fragments), 1);
    // Lines across k hold no fragments' words.
    EXPECT_NE(kernel(nvidia, m, false).config.find("direct=0"), std::string::npos);
    sched::Target without = nvidia;
    std::erase_if(without.matrix_units,
                  [&](const exec::MatrixUnit& unit) { return exec::to_string(unit) == fragments; });
    EXPECT_NE(kernel(without, m, true).config.find("direct=0"), std::string::npos);
  }
  // A constant [k, n] lies along k, so that it may be direct.
  const exec::Executable executable = compiled(
      "tcc: 1\nname: turned\ninputs: {x: {dtype: f16, shape: [12608, 3072]}}\n"
      "weights: {w: {dtype: f16, shape: [3072, 768], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: matmul, in: [x, w]}]\noutputs: [y]\n",
      nvidia);
  ASSERT_EQ(executable.kernels.size(), 1u);
  EXPECT_NE(executable.kernels[0].config.find("direct=1"), std::string::npos);
}

// The copy of a stem's image has windows of 28 neighbours: three and a half chunks.
TEST_F(CoopmatTemplate, AStemIsReadByHalvesOfChunks) {
  use(true);
  const exec::Executable executable = compiled(
      "tcc: 1\nname: stem\ninputs: {x: {dtype: f16, shape: [16, 3, 224, 224]}}\n"
      "weights: {w: {dtype: f16, shape: [64, 3, 7, 7], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: conv2d, in: [x, w], stride: 2, padding: 3}]\noutputs: [y]\n",
      target_of(coopmat_devices()[0]));
  ASSERT_EQ(executable.kernels.size(), 2u);
  const exec::KernelBinary& product = executable.kernels.back();
  EXPECT_EQ(product.template_name, "gemm_coopmat");
  const bool of_a = product.source.find("_a_load Load_im2col") != std::string::npos;
  EXPECT_TRUE(of_a || product.source.find("_b_load Load_im2col") != std::string::npos);
  EXPECT_NE(product.source.find(of_a ? "_a_vector 4" : "_b_vector 4"), std::string::npos);
}

// A product with a bias of columns and a residual, whose words come before the first sums are
// staged. A segment of eight columns has four words of 16 bits, one of a single column has one.
TEST_F(CoopmatTemplate, BringsWhatEpiloguesLoad) {
  use(true);
  const sched::Target target = large_nvidia();
  const auto source_of = [&](int64_t n, const char* dtype) {
    const exec::Executable executable = compiled(
        str("tcc: 1\nname: held\ninputs:\n  x: {dtype: f16, shape: [512, 256]}\n  r: {dtype: ",
            dtype, ", shape: [512, ", n, "]}\nweights:\n  w: {dtype: f16, shape: [", n,
            ", 256], init: {normal: 0.1}}\n  b: {dtype: f16, shape: [", n,
            "], init: {normal: 0.1}}\nnodes:\n  - {out: h, op: linear, in: [x, w, b]}\n"
            "  - {out: y, op: add, in: [h, r]}\noutputs: [y]\n"),
        target);
    EXPECT_EQ(executable.kernels.size(), 1u);
    EXPECT_EQ(executable.kernels[0].template_name, "gemm_coopmat");
    return executable.kernels[0].source;
  };
  const auto words = [](const std::string& source, const std::string& of) {
    const std::string define = "#define params_" + of + " ";
    const size_t at = source.find(define);
    return at == std::string::npos ? -1 : std::stoi(source.substr(at + define.size()));
  };
  const std::string source = source_of(512, "f16");
  EXPECT_EQ(words(source, "held_columns"), 4);
  EXPECT_EQ(words(source, "held"), 4);
  // Buffers: w, b, r and the result are b1 to b4.
  const size_t epilogue = source.find("void epilogue(");
  const std::string body = source.substr(epilogue, source.find("\n}", epilogue) - epilogue);
  EXPECT_EQ(body.find("(b2)"), std::string::npos);
  EXPECT_EQ(body.find("(b3)"), std::string::npos);
  EXPECT_NE(body.find("(b4)"), std::string::npos);

  EXPECT_EQ(words(source_of(511, "f16"), "held"), 1);
  EXPECT_EQ(words(source_of(512, "f32"), "held"), 8);
}

bool validator_knows_matrices() {
  const auto code = backends::compile_glsl(R"(#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
void main() { coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a; }
)",
                                           "matrices", {.optimize = false});
  return backends::validate_spirv(code).empty();
}

// Defaults and random configs, of odd sizes too.
TEST_F(CoopmatTemplate, KernelsAreValid) {
  restore();
  for (const char* extension : {"GL_KHR_cooperative_matrix", "GL_EXT_bfloat16"})
    if (const std::string why = backends::glsl_lacking(extension); !why.empty())
      GTEST_SKIP() << why;
  if (!validator_knows_matrices())
    GTEST_SKIP() << "the SPIR-V validator knows no cooperative matrices: tcc was built without the "
                    "newer compiler, and TCC_SPIRV_VAL names no newer spirv-val";
  uint64_t seed = 1;
  for (const Device& device : coopmat_devices()) {
    const sched::Target target = target_of(device);
    for (const auto& [dtype, out] :
         {std::pair("f16", ""), std::pair("bf16", ""), std::pair("i8", "i32")})
      for (const auto& [m, n, k] : {std::array{512, 512, 512}, std::array{100, 72, 301}})
        for (const bool turned : {false, true}) {
          const test::RandomConfigs configs(seed);
          const bool random = seed++ % 3 != 0;
          const exec::Executable executable = compiled(product(dtype, out, m, n, k, turned), target,
                                                       random ? &configs : nullptr, true);
          for (const exec::KernelBinary& kernel : executable.kernels)
            EXPECT_EQ(backends::validate_spirv(kernel.code), "")
                << device.name << " " << kernel.template_name << " " << kernel.config;
        }
  }
}

}  // namespace
}  // namespace tcc
