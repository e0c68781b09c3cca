// A device source asks things of its language and device: lines of the text, the compiler's
// environment, and checks where a device gets the code.
#include <gtest/gtest.h>

#include "backends/compile/code.h"
#include "backends/compile/glsl.h"
#include "backends/emit/emit.h"
#include "executable/executable.h"
#include "executable/spirv_facts.h"
#include "executable/spirv_words.h"
#include "scheduler/kernel.h"
#include "scheduler/templates/kernel_parameters.h"
#include "support/error.h"
#include "tests/expect_error.h"

namespace tcc::backends {
namespace {

sched::Kernel kernel_with_needs() {
  sched::Kernel kernel;
  kernel.name = "k";
  kernel.workgroup = 32;
  kernel.launch = {1, 1};
  kernel.needs.extensions = {"GL_KHR_cooperative_matrix", "GL_KHR_memory_scope_semantics"};
  kernel.needs.environment = "vulkan1.3";
  kernel.needs.matrix_units = {*exec::parse_matrix_unit("coopmat 16x16x16 f16 f16 f32 f32")};
  return kernel;
}

TEST(SourceNeeds, BecomeLinesAndFacts) {
  const sched::Target target = sched::target_by_name("vulkan");
  const exec::KernelText text = emit(kernel_with_needs(), target);
  EXPECT_NE(text.source.find("#extension GL_KHR_cooperative_matrix : require\n"
                             "#extension GL_KHR_memory_scope_semantics : require\n"),
            std::string::npos)
      << text.source.substr(0, 400);
  EXPECT_EQ(text.environment, "vulkan1.3");
  EXPECT_EQ(text.matrix_units, std::vector<std::string>{"coopmat 16x16x16 f16 f16 f32 f32"});
  EXPECT_ERROR(emit(kernel_with_needs(), sched::target_by_name("cuda:sm_90a")),
               "has no extension GL_KHR_cooperative_matrix");
}

// A struct of parameters becomes defines where the language has no such structs.
TEST(SourceNeeds, ParametersBecomeDefines) {
  kernels::Product product;
  product.m = 4096;
  product.swapped = true;
  product.b.load = kernels::Load::computed;
  sched::Kernel kernel = kernel_with_needs();
  kernel.source = "contraction";
  kernel.parameters = sched::parameters_of(product, "Product", "common/matrix.h");
  const sched::Target target = sched::target_by_name("vulkan");
  const std::string text = emit(kernel, target).source;
  std::string defines;
  for (const char* line :
       {"#define Load_computed 1\n", "#define Load_tiles 0\n", "#define Element_e5m2 7\n",
        "#define params_m 4096\n", "#define params_swapped 1\n",
        "#define params_b_load Load_computed\n", "#define params_b_major_k 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
    defines += line;
  }
  EXPECT_EQ(text.find("TCC_MAPS"), std::string::npos);
  kernel.parameters.fields.push_back({"b_load", "0"});
  EXPECT_THROW(emit(kernel, target), InternalError) << "it is b.load";

  const Backend& backend = backend_for(sched::Api::vulkan);
  if (const std::string why = backend.compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  const auto compiles = [&](const std::string& condition) {
    const std::string source = "#version 450\n" + defines + "layout(local_size_x = 1) in;\n#if " +
                               condition + "\nvoid main() {}\n#endif\n";
    return !compile_source(source, "k", target, nullptr, true, {TextOrigin::device_source, ""})
                .empty();
  };
  EXPECT_TRUE(compiles("params_b_load == Load_computed && params_swapped && params_m > 4000"));
  EXPECT_THROW(compiles("params_b_load == Load_tiles"), Error);
}

TEST(SourceNeeds, DevicesMustHaveTheUnits) {
  exec::KernelBinary kernel;
  kernel.entry = "k";
  kernel.matrix_units = {"coopmat 16x16x16 f16 f16 f32 f32"};
  exec::Target target;
  EXPECT_ERROR_KIND(exec::check_units(kernel, target), ErrorKind::device,
                    "uses matrix units 'coopmat 16x16x16 f16 f16 f32 f32', which the device lacks");
  target.matrix_units = {*exec::parse_matrix_unit("coopmat 16x8x16 f16 f16 f32 f32")};
  EXPECT_ERROR_KIND(exec::check_units(kernel, target), ErrorKind::device, "which the device lacks");
  target.matrix_units.push_back(*exec::parse_matrix_unit(kernel.matrix_units[0]));
  EXPECT_NO_THROW(exec::check_units(kernel, target));
}

TEST(SourceNeeds, DevicesMustRunWorkgroupsThatWaitAtOnce) {
  exec::KernelBinary kernel;
  kernel.entry = "k";
  exec::Target target = sched::target_by_name("vulkan");
  EXPECT_NO_THROW(exec::check_cooperation(kernel, target));
  kernel.cooperative = true;
  EXPECT_ERROR_KIND(exec::check_cooperation(kernel, target), ErrorKind::device,
                    "does not promise to run all of them at once");
  EXPECT_NO_THROW(exec::check_cooperation(kernel, sched::target_by_name("cuda:sm_80")));
}

TEST(SourceNeeds, TextsAreCompiledForTheirEnvironment) {
  const Backend& backend = backend_for(sched::Api::vulkan);
  const sched::Target target = sched::target_by_name("vulkan");
  EXPECT_EQ(backend.flags(target, TextOrigin::device_source),
            backend.flags(target, {TextOrigin::device_source, ""}));
  EXPECT_NE(backend.flags(target, TextOrigin::device_source),
            backend.flags(target, {TextOrigin::device_source, "vulkan1.3"}));
  if (const std::string why = backend.compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  const auto minor = [&](const std::string& environment) {
    const auto code = compile_source(backend.smallest_source(), "k", target, nullptr, true,
                                     {TextOrigin::device_source, environment});
    return exec::spirv_facts(exec::spirv_words(code)).version_minor;
  };
  EXPECT_EQ(minor(""), 5);
  EXPECT_EQ(minor("vulkan1.2"), 5);
  EXPECT_EQ(minor("vulkan1.3"), 6);
  EXPECT_ERROR_KIND(minor("vulkan9"), ErrorKind::device, "no environment 'vulkan9'");
  EXPECT_ERROR_KIND(backend_for(sched::Api::cuda)
                        .compile("", "k", sched::target_by_name("cuda:sm_90a"),
                                 {TextOrigin::device_source, "vulkan1.3"}),
                    ErrorKind::device, "CUDA has no environment");
}

}  // namespace
}  // namespace tcc::backends
