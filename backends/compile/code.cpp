#include "backends/compile/code.h"

#include "backends/compile/glsl.h"
#include "backends/compile/nvrtc.h"
#include "backends/compile/spirv.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

std::vector<uint8_t> compile_uncached(const std::string& source, const std::string& name,
                                      const sched::Target& target, bool optimize) {
  switch (target.api) {
    case sched::Api::cuda: return compile_cuda(source, name, target.arch);
    case sched::Api::vulkan: return compile_glsl(source, name, {.optimize = optimize});
    case sched::Api::null: break;
  }
  return {};
}

std::string compiler_id(sched::Api api) {
  return api == sched::Api::cuda ? nvrtc_id() : api == sched::Api::vulkan ? glsl_compiler_id() : "";
}

}  // namespace

std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    bool optimize) {
  if (target.api == sched::Api::null) return {};
  Hash128 key = kernel_key(source, optimize ? "optimized, loops kept" : "", compiler_id(target.api),
                           target.api == sched::Api::cuda ? target.arch : "spirv");
  if (cache)
    if (auto found = cache->find(key)) return *found;
  std::vector<uint8_t> code = compile_uncached(source, name, target, optimize);
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
