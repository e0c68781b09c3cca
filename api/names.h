// Finds inputs and outputs by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "executable/executable.h"

namespace tcc {

// Returns the index of `name` among the buffers `numbers`. Throws Error(bad_input) "the graph has
// no input 'x'; did you mean 'y'?", `kind` being "input" or "output".
size_t index_of(const exec::Executable& executable, const std::vector<int>& numbers,
                std::string_view kind, std::string_view name);

// Returns the values of `named` in the order of `numbers`. Throws Error(bad_input) for a missing or
// an unknown name.
template <class T>
std::vector<T> in_order(const exec::Executable& executable, const std::vector<int>& numbers,
                        std::string_view kind, const std::map<std::string, T>& named);

[[noreturn]] void fail_not_given(std::string_view kind, const std::string& name);

template <class T>
std::vector<T> in_order(const exec::Executable& executable, const std::vector<int>& numbers,
                        std::string_view kind, const std::map<std::string, T>& named) {
  for (const auto& [name, value] : named) index_of(executable, numbers, kind, name);
  std::vector<T> values;
  for (const int number : numbers) {
    const std::string& name = executable.buffers[static_cast<size_t>(number)].name;
    const auto found = named.find(name);
    if (found == named.end()) fail_not_given(kind, name);
    values.push_back(found->second);
  }
  return values;
}

}  // namespace tcc
