// Names in the text IR.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tcc::ir {

// Returns whether the character may stand in a name without quotes.
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-';
}

// Returns the name, in quotes if it needs them.
inline std::string name_text(std::string_view name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, is_name_char);
  return plain ? std::string(name) : quote(name);
}

}  // namespace tcc::ir
