#include "backends/compile/code.h"

#include <chrono>
#include <cmath>

#include "support/error.h"
#include "support/log.h"

namespace tcc::backends {

std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    const TextKind& kind) {
  const Backend& backend = backend_for(target.api);
  Hash128 key = kernel_key(source, backend.flags(target, kind), backend.compiler_id(),
                           backend.instruction_set(target));
  if (cache)
    if (auto found = cache->find(key)) return *found;
  const auto start = std::chrono::steady_clock::now();
  std::vector<uint8_t> code = backend.compile(source, name, target, kind);
  if (code.empty()) return code;
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log_parts(LogLevel::info, LogChannel::cache, name, ": not there, compiled in ",
            std::lround(time.count()), " ms: ", key.hex());
  if (validate)
    if (std::string reason = backend.violation(code); !reason.empty())
      throw InternalError(str(name, ": ", reason));
  if (cache) cache->insert(key, code);
  return code;
}

}  // namespace tcc::backends
