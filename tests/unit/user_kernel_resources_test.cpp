// Users' kernels that were written for another program: descriptors, push constants,
// specialization constants, includes and defines.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "autotune/user_kernel/user_tunable.h"
#include "backends/compile/glsl.h"
#include "backends/compile/spirv.h"
#include "backends/vulkan/resources.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/unit/user_kernel_fixture.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

// y = x * factor + rest, with the numbers of another program's ways, and two views of x: vectors
// where four are left, and numbers.
constexpr const char* kSource = R"(#version 450
#extension GL_EXT_control_flow_attributes : enable
#include "parts/types.glsl"
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint BLOCK = 4;
layout(constant_id = 3) const bool VECTORS = false;
layout(constant_id = 5) const int FACTOR = -1;
layout(binding = 1) readonly buffer Numbers { X_TYPE numbers[]; };
layout(binding = 1) readonly buffer Vectors { vec4 vectors[]; };
layout(binding = 0) writeonly buffer Result { X_TYPE y[]; };
layout(set = 0, binding = 2) readonly buffer Rest { uint count; Pair pairs[]; } rest;
layout(push_constant) uniform Parameters { uint size; int first; } p;
const uint DOUBLE = BLOCK * 2;
shared X_TYPE kept[DOUBLE];
#include "parts/functions.glsl"
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (gl_GlobalInvocationID.y > 0 || i >= p.size) return;
  kept[gl_LocalInvocationID.x] = value(i);
  y[i] = kept[gl_LocalInvocationID.x] * float(FACTOR) + rest_of(i);
}
)";
constexpr const char* kTypes =
    "#ifndef TYPES\n#define TYPES\nstruct Pair { float a, b; };\n#endif\n";
constexpr const char* kFunctions = R"(#include "types.glsl"
float value(uint i) {
  if (VECTORS && i / 4 * 4 + 4 <= p.size) return vectors[i / 4][i % 4];
  return numbers[i];
}
float rest_of(uint i) { return rest.pairs[i].b + float(int(rest.count) + p.first); })";

constexpr const char* kFile = R"yaml(tcc_kernel: 1
name: other
dims: {N: 61}
inputs:
  rest: {dtype: f32, shape: ["2 * N + 1"], range: [0, 1]}
  x: {dtype: f32, shape: [N]}
outputs:
  y: {dtype: f32, shape: [N]}
vulkan:
  source: other.comp
  defines: {X_TYPE: float}
  environment: vulkan1.3
  bindings: [y, x, rest]
  push_constants: [N, -7]
  constants: {0: BLOCK, 3: VECTORS, 5: -3}
parameters:
  BLOCK: [8, 16, 32]
  VECTORS: [0, 1]
default: {BLOCK: 16, VECTORS: 1}
launch:
  workgroup: [BLOCK]
  grid: ["ceil_div(N, BLOCK)", 2]
check: {config: {BLOCK: 8, VECTORS: 0}}
)yaml";

class UserKernelResources : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string missing = backends::backend_for(sched::Api::vulkan).compiler_missing();
        !missing.empty())
      GTEST_SKIP() << missing;
    folder_ = fs::temp_directory_path() / str("tcc-resources-", ::getpid());
    fs::create_directories(folder_ / "parts");
    write("other.comp", kSource);
    write("parts/types.glsl", kTypes);
    write("parts/functions.glsl", kFunctions);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(folder_ / name, text);
  }
  UserKernel kernel(const std::string& change = "", const std::string& to = "") const {
    std::string text = kFile;
    if (!change.empty()) {
      EXPECT_NE(text.find(change), std::string::npos) << change;
      text.replace(text.find(change), change.size(), to);
    }
    return parse_user_kernel(text, "other.yaml", folder_);
  }
  static void compile(const UserKernel& kernel) {
    BoundKernel(kernel, {}, sched::target_by_name("vulkan")).compile(kernel.default_config, {});
  }
  void expect_source_error(const std::string& line, const std::string& change,
                           const std::string& words) const {
    std::string text = kSource;
    ASSERT_NE(text.find(change), std::string::npos) << change;
    write("other.comp", text.replace(text.find(change), change.size(), line));
    EXPECT_ERROR(compile(kernel()), words);
    write("other.comp", kSource);
  }
  fs::path folder_;
};

TEST_F(UserKernelResources, AreThoseOfTheFile) {
  std::shared_ptr<runtime::Device> device;
  try {
    device = runtime::open_device("vulkan:0");
  } catch (const Error& error) { GTEST_SKIP() << error.what(); }
  const UserKernel other = kernel();
  for (const int64_t n : {1, 3, 4, 61, 64, 100})
    for (const int64_t block : {8, 16, 32})
      for (const int64_t vectors : {0, 1}) {
        const BoundKernel bound(other, {{"N", n}}, device->target());
        BenchJob job = tunable(other, device->target(), {{"N", n}}).job(1);
        Tensor rest(DType::f32, {2 * n + 1}), x(DType::f32, {n});
        for (int64_t i = 0; i < n; ++i) x.set(i, static_cast<double>(i % 17) / 8 - 1);
        // The first number's bits are an integer: 5.
        const uint32_t count = 5;
        for (int64_t i = 1; i <= 2 * n; ++i) rest.set(i, static_cast<double>(i));
        std::memcpy(rest.data(), &count, sizeof count);
        auto program = std::make_shared<const runtime::Program>(
            device,
            executable_of(bound,
                          {with(other.default_config, {{"BLOCK", block}, {"VECTORS", vectors}}),
                           sched::Tier::exact},
                          {}));
        const Tensor y = runtime::Context(program).run(std::vector<Tensor>{rest, x}).front();
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(y.get(i), x.get(i) * -3 + static_cast<double>(2 * i + 2) + 5 - 7)
              << n << " " << block << " " << vectors << " " << i;
      }
}

TEST_F(UserKernelResources, RealNumbersAreWordsAndDefines) {
  const auto of = [&](const std::string& push_constant) {
    std::string text = kFile;
    text.insert(text.find("inputs:\n"), "scalars: {scale: 1.5}\n");
    text.replace(text.find("[N, -7]"), 7, "[N, " + push_constant + "]");
    text.replace(text.find("X_TYPE: float"), 13, "X_TYPE: float, SCALE: scale");
    return parse_user_kernel(text, "other.yaml", folder_);
  };
  const auto code = [&](const std::string& push_constant) {
    const UserKernel read = of(push_constant);
    return BoundKernel(read, {}, sched::target_by_name("vulkan"))
        .compile(read.default_config, {})
        .code;
  };
  EXPECT_EQ(code("scale"), code("1069547520"));
  EXPECT_EQ(code("1.5"), code("1069547520"));
  EXPECT_NE(code("1.5"), code("2"));
  EXPECT_ERROR(of("1e300"), "must be finite as an f32");
  const UserKernel read = of("scale");
  EXPECT_NE(BoundKernel(read, {}, sched::target_by_name("vulkan"))
                .source_text(read.default_config)
                .find("#define SCALE (1.5)"),
            std::string::npos);
}

TEST_F(UserKernelResources, TheCodeIsValidAndOfOthersKind) {
  const UserKernel other = kernel();
  const BoundKernel bound(other, {}, sched::target_by_name("vulkan"));
  const exec::StandaloneKernel binary = bound.compile(other.default_config, {});
  EXPECT_EQ(backends::validate_spirv(binary.code), "");
  EXPECT_EQ(binary.block, (std::array<uint32_t, 3>{16, 1, 1}));
  EXPECT_EQ(binary.num_arguments, 3);
  // Nothing but what `defines` says is defined, and the files' lines are theirs.
  const std::string text = bound.source_text(other.default_config);
  EXPECT_EQ(text.find("#version 450\n#define X_TYPE float\n#line 2\n"), 0u);
  EXPECT_NE(text.find("#line 1 1\n#ifndef TYPES"), std::string::npos);
  EXPECT_NE(text.find("#endif\n#line 4 0\nlayout(local_size_x_id"), std::string::npos);
  EXPECT_NE(text.find("#line 1 2\n#line 1 3\n#ifndef TYPES"), std::string::npos);
  EXPECT_NE(text.find("#endif\n#line 2 2\nfloat value"), std::string::npos);
  EXPECT_NE(text.find("p.first); }\n#line 16 0\nvoid main"), std::string::npos);
}

// Matrices of a workgroup, loaded and stored from tensors (GL_NV_cooperative_matrix2).
TEST_F(UserKernelResources, MayBeTensors) {
  constexpr const char* kTensors = "GL_NV_cooperative_matrix2";
  if (const std::string lacking = backends::glsl_lacking(kTensors); !lacking.empty())
    GTEST_SKIP() << lacking;
  write("other.comp", R"(#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 3) const uint SIZE = 8;
layout(binding = 1) readonly buffer X { float16_t x[]; };
layout(binding = 0) writeonly buffer Y { float16_t y[]; };
layout(push_constant) uniform Parameters { uint size; int first; } p;
void main() {
  tensorLayoutNV<2> tensor = setTensorLayoutDimensionNV(createTensorLayoutNV(2), p.size, p.size);
  tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
  coopmat<float16_t, gl_ScopeWorkgroup, SIZE, SIZE, gl_MatrixUseAccumulator> matrix;
  coopMatLoadTensorNV(matrix, x, 0, sliceTensorLayoutNV(tensor, 0, SIZE, 0, SIZE), transposed);
  coopMatLoadTensorNV(matrix, x, 0, sliceTensorLayoutNV(tensor, 0, SIZE, 0, SIZE));
  coopMatStoreTensorNV(matrix, y, 0, sliceTensorLayoutNV(tensor, 0, SIZE, 0, SIZE), transposed);
}
)");
  std::string text = kFile;
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;) text.replace(at, 3, "f16");
  text.replace(text.find("3: VECTORS"), 10, "3: 16 + VECTORS * 0");
  const UserKernel other = parse_user_kernel(text, "other.yaml", folder_);
  const BoundKernel bound(other, {}, sched::target_by_name("vulkan"));
  EXPECT_EQ(backends::validate_spirv(bound.compile(other.default_config, {}).code), "");
}

TEST_F(UserKernelResources, KeysSayThem) {
  const sched::Target target = sched::target_by_name("vulkan");
  const std::string before = BoundKernel(kernel(), {}, target).family();
  for (const auto& [change, to] :
       {std::pair("X_TYPE: float", "X_TYPE: highp float"), std::pair("[N, -7]", "[N, -8]"),
        std::pair("5: -3", "5: -4"), std::pair("[y, x, rest]", "[y, rest, x]"),
        std::pair("vulkan1.3", "vulkan1.2"), std::pair("  source", "  subgroup: 8\n  source")})
    EXPECT_NE(BoundKernel(kernel(change, to), {}, target).family(), before) << change;
  write("parts/types.glsl", str("// changed\n", kTypes));
  EXPECT_NE(BoundKernel(kernel(), {}, target).family(), before);
}

TEST_F(UserKernelResources, SubgroupsMustBeTheTargets) {
  const UserKernel other = kernel("  source", "  subgroup: BLOCK\n  source");
  sched::Target target = sched::target_by_name("vulkan");
  target.subgroup_size_min = 8;
  target.subgroup_size_max = 16;
  const BoundKernel bound(other, {}, target);
  EXPECT_EQ(bound.compile(other.default_config, {}).subgroup_size, 16);
  EXPECT_NE(bound.space().violation(with(other.default_config, {{"BLOCK", 32}})), "");
}

TEST_F(UserKernelResources, WhatDoesNotFitIsRefused) {
  EXPECT_ERROR(compile(kernel("[y, x, rest]", "[y, x]")), "has a buffer at binding 2");
  EXPECT_ERROR(compile(kernel("[N, -7]", "[N]")), "reads push constant 1; 'push_constants' has 1");
  EXPECT_NO_THROW(compile(kernel("5: -3", "6: -3"))) << "compilers drop those that are not used";
  EXPECT_ERROR(compile(kernel("5: -3", "5: 1 + 4294967295")), "has more than 32 bits");
  EXPECT_ERROR(compile(kernel("{0: BLOCK", "{0: BLOCK + 1")), "launch.workgroup is [16, 1, 1]");
  EXPECT_ERROR(kernel("[y, x, rest]", "[y, x, r]"), "unknown name 'r'");
  EXPECT_ERROR(kernel("5: -3", "five: -3"), "'five' is no id of a constant");
  EXPECT_ERROR(kernel("5: -3", "5: M"), "unknown name 'M'");
  EXPECT_ERROR(kernel("X_TYPE: float", "X__TYPE: float"), "is reserved in GLSL");
  EXPECT_ERROR(kernel("X_TYPE: float", "X_TYPE: \"float\\n#error\""), "has a control character");
  expect_source_error("layout(set = 1, binding = 1) readonly buffer Numbers",
                      "layout(binding = 1) readonly buffer Numbers", "descriptor set 1");
  expect_source_error("layout(binding = 1) uniform Numbers { float numbers[4]; };",
                      "layout(binding = 1) readonly buffer Numbers { X_TYPE numbers[]; };",
                      "binding 1 is no storage buffer");
  expect_source_error("if (i >= numbers.length()) return;",
                      "kept[gl_LocalInvocationID.x] = value(i);", "asks a buffer for its length");
}

TEST_F(UserKernelResources, IncludesStayInTheFolderAndEnd) {
  write("other.comp", "#version 450\n#include \"other.comp\"\n");
  EXPECT_ERROR(kernel(), "more than 16 files deep");
  write("other.comp", "#version 450\n\n # include \"../../etc/passwd\"\n");
  EXPECT_ERROR(kernel(), "other.comp:3: ");
  write("other.comp", "#version 450\n#include \"none.glsl\"\n");
  EXPECT_ERROR(kernel(), "none.glsl");
  fs::create_symlink("/etc/hostname", folder_ / "link.glsl");
  write("other.comp", "#version 450\n#include \"link.glsl\"\n");
  EXPECT_ERROR(kernel(), "link.glsl");
  write("other.comp", "#version 450\n#include <x>\n#include \"open\n");
  EXPECT_NO_THROW(kernel());
}

TEST_F(UserKernelResources, FilesMayBeginWithAByteOrderMark) {
  write("part.glsl",
        "\xef\xbb\xbf"
        "float two() { return 2.0; }\n");
  write("other.comp", "\xef\xbb\xbf#version 450\n#include \"part.glsl\"\nvoid main() {}\n");
  const std::string text = kernel().sources.at(sched::Api::vulkan).text;
  EXPECT_TRUE(text.starts_with("#version 450\n")) << text;
  EXPECT_EQ(text.find('\xef'), std::string::npos) << text;
}

// Every beginning of a module, and every module with a word that is another, is bound or refused.
TEST_F(UserKernelResources, DamagedModulesAreRefused) {
  const UserKernel other = kernel();
  const BoundKernel bound(other, {}, sched::target_by_name("vulkan"));
  const backends::Backend& backend = backends::backend_for(sched::Api::vulkan);
  const std::vector<uint32_t> words = backends::spirv_words(
      backend.compile(bound.source_text(other.default_config), "other", bound.target(),
                      {backends::TextOrigin::user, "vulkan1.3"}));
  const backends::KernelResources resources{{2, 1, 0}, {61, 5}, {{0, 16}, {3, 1}, {5, 2}}};
  const auto bind = [&](const std::vector<uint32_t>& module) {
    try {
      backends::bind_resources(backends::spirv_bytes(module), resources, 3);
    } catch (const Error&) {}
  };
  EXPECT_NO_THROW(backends::bind_resources(backends::spirv_bytes(words), resources, 3));
  for (size_t size = 5; size < words.size(); ++size)
    bind({words.begin(), words.begin() + static_cast<long>(size)});
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint32_t> damaged = words;
    damaged[5 + random() % (words.size() - 5)] = i % 2 ? random() : random() % 128;
    bind(damaged);
  }
}

}  // namespace
}  // namespace tcc::autotune
