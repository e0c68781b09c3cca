#include "backends/compile/glsl.h"

#if TCC_HAVE_SHADERC
#include <spirv-tools/libspirv.h>
#include <shaderc/shaderc.hpp>
#endif

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "backends/compile/exact_floats.h"
#include "backends/compile/failure.h"
#include "backends/compile/process.h"
#include "backends/compile/spirv.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

constexpr std::chrono::seconds kTimeout{120};
constexpr std::string_view kOlder = "vulkan1.2", kNewer = "vulkan1.3";

std::string environment_of(const GlslOptions& options, const std::string& name) {
  const std::string& wanted = options.environment;
  if (wanted.empty()) return std::string(kOlder);
  if (wanted != kOlder && wanted != kNewer)
    fail_device("kernel ", name, ": no environment '", wanted, "'; there are ", kOlder, " and ",
                kNewer);
  return wanted;
}

// Before any pass: passes keep what is decorated.
std::vector<uint8_t> with_float_rules(std::vector<uint8_t> code, const GlslOptions& options) {
  if (!options.exact_floats) return code;
  return spirv_bytes(exact_floats(spirv_words(code), *options.exact_floats));
}

std::vector<uint8_t> compile_with(const std::string& program, const std::string& source,
                                  const std::string& name, const GlslOptions& options) {
  const TemporaryFolder folder;
  const std::string input = (folder.path() / source_file_name(name, ".comp")).string(),
                    output = (folder.path() / "out.spv").string();
  write_file_atomic(input, source);
  // Not -O: it unrolls loops and loses decorations on the way (spirv.cpp). Drivers optimise anyway.
  const ProcessResult result =
      run_process({program, "-fshader-stage=compute",
                   "--target-env=" + environment_of(options, name), "-O0", "-o", output, input},
                  kTimeout);
  if (result.timed_out)
    fail_device("kernel ", name, ": ", program, " took longer than ", kTimeout.count(), " s");
  if (result.exit_code != 0)
    fail_compile(source, name, ".comp", "", options.dump_folder, result.output);
  const std::string code = read_file(output);
  return with_float_rules({code.begin(), code.end()}, options);
}

// The first line of `glslc --version`, asked once per program.
std::string version_of(const std::string& program) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  auto [entry, is_new] = known.try_emplace(program);
  if (!is_new) return entry->second;
  try {
    const ProcessResult result = run_process({program, "--version"}, std::chrono::seconds(10));
    if (result.exit_code == 0) entry->second = result.output;
  } catch (const Error&) {
    known.erase(entry);
    throw;
  }
  return entry->second;
}

#if TCC_HAVE_SHADERC
// One compiler for the process: glslang's symbol tables are built once, and compiling is
// thread-safe.
const shaderc::Compiler& shared_compiler() {
  static const shaderc::Compiler compiler;
  return compiler;
}

std::vector<uint8_t> compile_here(const std::string& source, const std::string& name,
                                  const GlslOptions& options) {
  shaderc::CompileOptions flags;
  const bool is_newer = environment_of(options, name) == kNewer;
  flags.SetTargetEnvironment(shaderc_target_env_vulkan, is_newer ? shaderc_env_version_vulkan_1_3
                                                                 : shaderc_env_version_vulkan_1_2);
  flags.SetTargetSpirv(is_newer ? shaderc_spirv_version_1_6 : shaderc_spirv_version_1_5);
  // The passes run below, so that their cost and their choice are ours.
  flags.SetOptimizationLevel(shaderc_optimization_level_zero);
  const auto result = shared_compiler().CompileGlslToSpv(
      source.data(), source.size(), shaderc_compute_shader, name.c_str(), flags);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success)
    fail_compile(source, name, ".comp", "", options.dump_folder, result.GetErrorMessage());
  const std::vector<uint8_t> code =
      with_float_rules(spirv_bytes({result.cbegin(), result.cend()}), options);
  return options.optimize ? optimize_spirv(code) : code;
}

std::string missing_here() { return ""; }
#ifndef TCC_SHADERC_VERSIONS  // the build says them of a compiler that it brought
#define TCC_SHADERC_VERSIONS "libshaderc"
#endif
std::string id_here() {
  unsigned int version = 0, revision = 0;
  shaderc_get_spv_version(&version, &revision);
  return str(TCC_SHADERC_VERSIONS " spv-", version, ".", revision, " ",
             spvSoftwareVersionDetailsString());
}
#else
std::string missing_here() {
  return "no GLSL compiler: tcc was built without libshaderc, and TCC_GLSLC names no glslc";
}
std::vector<uint8_t> compile_here(const std::string&, const std::string&, const GlslOptions&) {
  fail_device(missing_here());
}
std::string id_here() { return "none"; }
#endif

// The glslc in PATH; "" where there is none.
std::string program_in_path() {
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / "glslc";
    std::error_code ignored;
    if (!folder.empty() && std::filesystem::is_regular_file(program, ignored))
      return program.string();
  }
  return "";
}

// Compiles with a program or, where it is "", in this process.
std::vector<uint8_t> compile_by(const std::string& program, const std::string& source,
                                const std::string& name, const GlslOptions& options) {
  return program.empty() ? compile_here(source, name, options)
                         : compile_with(program, source, name, options);
}

// Whether the compiler that `program` names ("": this process's) has an extension, asked once.
bool has_extension(const std::string& program, const std::string& extension) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, bool> known;
  const std::lock_guard lock(mutex);
  auto [entry, is_new] = known.try_emplace({program, extension}, false);
  if (!is_new) return entry->second;
  try {
    compile_by(program,
               "#version 450\n#extension " + extension +
                   " : require\nlayout(local_size_x = 1) in;\nvoid main() {}\n",
               "extension", {.optimize = false, .environment = std::string(kNewer)});
    entry->second = true;
  } catch (const Error&) {}
  return entry->second;
}

// Compilers that many systems still have lack these.
constexpr std::string_view kNewExtensions[] = {"GL_KHR_cooperative_matrix", "GL_EXT_bfloat16",
                                               "GL_NV_cooperative_matrix2"};

bool requires_extension(const std::string& source, std::string_view extension) {
  return source.find(str("#extension ", extension, " : require")) != std::string::npos;
}

// Whether the linked compiler lacks an extension that the source requires.
bool is_too_new(const std::string& source) {
  for (const std::string_view extension : kNewExtensions)
    if (requires_extension(source, extension) && !has_extension("", std::string(extension)))
      return true;
  return false;
}

// The program that compiles a source; "": this process does. TCC_GLSLC decides, and else PATH's
// glslc gets what the linked compiler is too old for.
std::string program_for(const std::string& source) {
  const std::string named = environment("TCC_GLSLC");
  if (!named.empty()) return named;
  return is_too_new(source) ? program_in_path() : "";
}

}  // namespace

std::vector<uint8_t> compile_glsl(const std::string& source, const std::string& name,
                                  const GlslOptions& options) {
  return compile_by(program_for(source), source, name, options);
}

std::string glsl_lacking(const std::string& extension) {
  const std::string named = environment("TCC_GLSLC");
  if (!named.empty()) {
    if (has_extension(named, extension)) return "";
    const std::string missing = glsl_compiler_missing();
    return missing.empty() ? str("TCC_GLSLC: ", named, " has no ", extension) : missing;
  }
  if (has_extension("", extension)) return "";
  const std::string found = program_in_path();
  if (!found.empty() && has_extension(found, extension)) return "";
  return str("the GLSL compiler has no ", extension, found.empty() ? "" : ", nor has " + found,
             "; build tcc by ./dev, which fetches a newer one, or put a newer glslc into PATH or "
             "name it in TCC_GLSLC");
}

std::string glsl_newer_compiler() {
  if (!environment("TCC_GLSLC").empty()) return "";
  const std::string program = program_in_path();
  std::error_code failed;
  const auto bytes = program.empty() ? 0 : std::filesystem::file_size(program, failed);
  if (program.empty() || failed) return "";
  const auto written = std::filesystem::last_write_time(program, failed).time_since_epoch();
  return str(program, " ", bytes, " ", failed ? 0 : written.count());
}

std::string glsl_compiler_missing() {
  const std::string program = environment("TCC_GLSLC");
  if (program.empty()) return missing_here();
  try {
    return version_of(program).empty() ? str("TCC_GLSLC: ", program, " --version fails") : "";
  } catch (const Error& error) { return str("TCC_GLSLC: ", error.what()); }
}

std::string glsl_compiler_id() {
  const std::string program = environment("TCC_GLSLC");
  return program.empty() ? id_here() : str("glslc ", version_of(program));
}

}  // namespace tcc::backends
