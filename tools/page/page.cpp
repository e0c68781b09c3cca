#include "tools/page/page.h"

#include "support/error.h"

namespace tcc::tools {

std::string filled_page(std::string_view page, const std::string& json) {
  constexpr std::string_view kPlaceholder = "{{data}}";
  TCC_CHECK(json.find('<') == std::string::npos, "data could leave its element");
  const size_t at = page.find(kPlaceholder);
  TCC_CHECK(at != std::string_view::npos, "the page has no place for its data");
  return str(page.substr(0, at), json, page.substr(at + kPlaceholder.size()));
}

}  // namespace tcc::tools
