// Pages of reports are HTML files of the folders beside this one, embedded by tools/CMakeLists.txt.
// They need no network and draw the contents of their data element.
#pragma once

#include <string>
#include <string_view>

namespace tcc::tools {

std::string_view tune_page();   // tools/tune/report_template.html
std::string_view track_page();  // tools/track/page/report_template.html

// Returns the page with its data, which may not contain "<".
std::string filled_page(std::string_view page, const std::string& json);

}  // namespace tcc::tools
