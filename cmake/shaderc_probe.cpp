// Exits 0 when libshaderc and SPIRV-Tools, linked as this program is, compile, validate and
// optimise a shader.
#include <shaderc/shaderc.hpp>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

#include <cstdint>
#include <vector>

static const char* const shader = R"(#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Data { float x[]; };
void main() { x[0] = sin(x[1]); }
)";

int main() {
  shaderc::Compiler compiler;
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
  auto result = compiler.CompileGlslToSpv(shader, shaderc_compute_shader, "probe", options);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success) return 1;
  std::vector<uint32_t> words(result.cbegin(), result.cend()), optimised;
  if (!spvtools::SpirvTools(SPV_ENV_VULKAN_1_2).Validate(words)) return 2;
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_2);
  optimizer.RegisterPerformancePasses();
  return optimizer.Run(words.data(), words.size(), &optimised) ? 0 : 3;
}
