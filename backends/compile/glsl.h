// Compiles GLSL compute text to SPIR-V 1.5 for Vulkan 1.2, or 1.6 for 1.3, with libshaderc in this
// process, or with the newer `glslc` that the environment variable TCC_GLSLC names. Without such a
// name, sources that require an extension which libshaderc is too old for are compiled by the
// `glslc` in PATH (docs/decisions/039-cooperative-matrices.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/target.h"

namespace tcc::backends {

struct GlslOptions {
  bool optimize = true;  // SPIRV-Tools' performance passes
  // Floats are computed as written, in these modes (exact_floats.h); unset: by GLSL's rules.
  std::optional<sched::FloatControls> exact_floats = {};
  std::string environment = {};  // "vulkan1.2", "vulkan1.3"; "": the former
  // The source of a shader that does not compile is written here as NAME.comp; "" writes nothing.
  std::filesystem::path dump_folder = {};
};

// Compiles the compute shader `source`, whose entry point is main(); `name` stands for its file in
// messages. Throws Error(device) with the compiler's first lines when it does not compile, or when
// there is no compiler. Thread-safe.
std::vector<uint8_t> compile_glsl(const std::string& source, const std::string& name,
                                  const GlslOptions& options = {});

// Returns "" when compile_glsl can work here; otherwise the reason why it cannot.
std::string glsl_compiler_missing();

// Returns the compiler and its version, for cache keys: equal ids give equal code.
std::string glsl_compiler_id();

// Returns why no source can require an extension here ("GL_KHR_cooperative_matrix"), or "".
// Compilers are asked once per process. Thread-safe.
std::string glsl_lacking(const std::string& extension);

// Returns what identifies the glslc in PATH, for cache keys of sources that it may compile: its
// place, size and time; "" where there is none or where it compiles nothing.
std::string glsl_newer_compiler();

}  // namespace tcc::backends
