#include "backends/compile/code.h"

#include <chrono>
#include <cmath>

#include "backends/compile/glsl.h"
#include "backends/compile/nvrtc.h"
#include "backends/compile/spirv.h"
#include "support/error.h"
#include "support/log.h"

namespace tcc::backends {
namespace {

CudaOptions cuda_options(TextOrigin origin) { return {.fmad = origin == TextOrigin::user}; }

GlslOptions glsl_options(TextOrigin origin, const sched::Target& target) {
  GlslOptions options;
  // SPIRV-Tools would take a second for what the driver does to a device source in a tenth of one.
  options.optimize = origin != TextOrigin::device_source;
  if (origin != TextOrigin::user) options.exact_floats = target.float_controls;
  return options;
}

std::vector<uint8_t> compile_uncached(const std::string& source, const std::string& name,
                                      const sched::Target& target, TextOrigin origin) {
  switch (target.api) {
    case sched::Api::cuda: return compile_cuda(source, name, target.arch, cuda_options(origin));
    case sched::Api::vulkan: return compile_glsl(source, name, glsl_options(origin, target));
    case sched::Api::null: break;
  }
  return {};
}

// The code depends on these of the options above.
std::string flags_text(TextOrigin origin, const sched::Target& target) {
  if (target.api == sched::Api::cuda) return cuda_options(origin).fmad ? "fmad" : "";
  const GlslOptions options = glsl_options(origin, target);
  std::string text = options.optimize ? "optimized, loops kept" : "";
  if (const auto& controls = options.exact_floats)
    text += str(" exact floats ", controls->keep_special, " ", controls->keep_denormals, " ",
                controls->round_to_even);
  return text;
}

std::string compiler_id(sched::Api api) {
  return api == sched::Api::cuda ? nvrtc_id() : api == sched::Api::vulkan ? glsl_compiler_id() : "";
}

}  // namespace

std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    TextOrigin origin) {
  if (target.api == sched::Api::null) return {};
  Hash128 key = kernel_key(source, flags_text(origin, target), compiler_id(target.api),
                           target.api == sched::Api::cuda ? target.arch : "spirv");
  if (cache)
    if (auto found = cache->find(key)) return *found;
  const auto start = std::chrono::steady_clock::now();
  std::vector<uint8_t> code = compile_uncached(source, name, target, origin);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log_parts(LogLevel::info, LogChannel::cache, name, ": not there, compiled in ",
            std::lround(time.count()), " ms: ", key.hex());
  if (validate && target.api == sched::Api::vulkan)
    if (std::string reason = validate_spirv(code); !reason.empty())
      throw InternalError(str(name, ": invalid SPIR-V: ", reason));
  if (cache) cache->insert(key, code);
  return code;
}

std::string compiler_missing(sched::Api api) {
  return api == sched::Api::cuda     ? nvrtc_missing()
         : api == sched::Api::vulkan ? glsl_compiler_missing()
                                     : "";
}

}  // namespace tcc::backends
