// Pages of reports: HTML files of this folder's neighbours, embedded by tools/CMakeLists.txt, that
// need no network and draw what their data element holds.
#pragma once

#include <string>
#include <string_view>

namespace tcc::tools {

std::string_view tune_page();   // tools/tune/report_template.html
std::string_view track_page();  // tools/track/page/report_template.html

// The page with its data, in which no "<" may stand.
std::string filled_page(std::string_view page, const std::string& json);

}  // namespace tcc::tools
