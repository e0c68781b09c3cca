#include "backends/emit/dialect.h"

namespace tcc::backends {

std::string fill(std::string_view pattern,
                 const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  while (!pattern.empty()) {
    size_t open = pattern.find('{');
    size_t close = open == std::string_view::npos ? open : pattern.find('}', open);
    if (close == std::string_view::npos) break;
    std::string_view key = pattern.substr(open + 1, close - open - 1);
    auto found = values.begin();
    while (found != values.end() && found->first != key) ++found;
    if (found == values.end()) {  // a brace of the language
      out += pattern.substr(0, open + 1);
      pattern.remove_prefix(open + 1);
      continue;
    }
    out += pattern.substr(0, open);
    out += found->second;
    pattern.remove_prefix(close + 1);
  }
  return out += pattern;
}

}  // namespace tcc::backends
