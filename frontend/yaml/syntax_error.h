// Explains what is wrong with a text that is not YAML. The YAML reader's own message names the
// place where it gave up, which may be lines after the mistake.
#pragma once

#include <string>
#include <string_view>

namespace tcc::yaml {

// "LINE:COLUMN: reason", both from 1, of a text that yaml-cpp gave up at line and column (from 0)
// with that message.
std::string syntax_error(std::string_view text, int line, int column, const std::string& message);

}  // namespace tcc::yaml
