#include "scheduler/source_compiler.h"

#include <vector>

namespace tcc::sched {
namespace {

std::vector<SourceCompiler>& compilers() {
  static std::vector<SourceCompiler> all;
  return all;
}

}  // namespace

std::string lacking_extension(Api api, const std::string& extension) {
  for (const SourceCompiler& compiler : compilers())
    if (compiler.api == api) return compiler.lacking(extension);
  return "";
}

RegisterSourceCompiler::RegisterSourceCompiler(const SourceCompiler& compiler) {
  compilers().push_back(compiler);
}

}  // namespace tcc::sched
