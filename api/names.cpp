#include "api/names.h"

#include "ir/suggest.h"
#include "support/error.h"

namespace tcc {

size_t index_of(const exec::Executable& executable, const std::vector<int>& numbers,
                std::string_view kind, std::string_view name) {
  std::vector<std::string> names;
  for (const int number : numbers) {
    names.push_back(executable.buffers[static_cast<size_t>(number)].name);
    if (names.back() == name) return names.size() - 1;
  }
  fail_input("the graph has no ", kind, " '", name, "'", ir::or_known(name, names));
}

void fail_not_given(std::string_view kind, const std::string& name) {
  fail_input(kind, " '", name, "' is not given");
}

}  // namespace tcc
