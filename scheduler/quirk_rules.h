// The names that quirk files may use of kernel templates (executable/quirks.h).
#pragma once

#include <string>
#include <string_view>

#include "executable/quirks.h"

namespace tcc::sched {

// The message about a template that there is not.
std::string no_template(std::string_view name);
// Returns what is wrong with a quirk of a template or of its configs, or "": the template, or a
// parameter or a value that is none of Template::parameters().
std::string misspelled(const exec::Quirk& quirk);

}  // namespace tcc::sched
