// Every program counts things in words by this: "1 kernel", "2 kernels".
#pragma once

#include <string>
#include <string_view>

namespace tcc {

// `count` and the noun, in the plural unless there is exactly one: "0 plans", "1 launch" with the
// plural "launches". Without `plural`, an s is added.
template <class Count>
std::string counted(Count count, std::string_view noun, std::string_view plural = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text += noun;
  if (!plural.empty()) return text += plural;
  return (text += noun) += "s";
}

}  // namespace tcc
