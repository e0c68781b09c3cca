#include <atomic>

#include "api/impl.h"

namespace tcc {
namespace {

std::atomic<runtime::HostFunctions (*)(const exec::Executable&)> find_functions = nullptr;

}  // namespace

void use_host_functions(runtime::HostFunctions (*find)(const exec::Executable& executable)) {
  find_functions = find;
}

runtime::HostFunctions host_functions(const exec::Executable& executable) {
  const auto find = find_functions.load();
  return find ? find(executable) : runtime::HostFunctions();
}

}  // namespace tcc
