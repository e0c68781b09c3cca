// tools/tune/report_template.html, embedded by the build.
#pragma once

#include <string_view>

namespace tcc::tools {

// A page whose data element holds "{{data}}", the only occurrence.
std::string_view report_template();

}  // namespace tcc::tools
