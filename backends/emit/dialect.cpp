#include "backends/emit/dialect.h"

namespace tcc::backends {

std::string_view cpp_keywords() {
  return "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
         "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
         "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
         "else "
         "enum explicit export extern false float for friend goto if inline int long mutable "
         "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
         "register reinterpret_cast requires return short signed sizeof static static_assert "
         "static_cast struct switch template this thread_local throw true try typedef typeid "
         "typename union unsigned using virtual void volatile wchar_t while xor xor_eq";
}

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
