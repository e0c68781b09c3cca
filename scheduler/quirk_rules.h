// The names that quirk files may use of kernel templates (executable/quirks.h).
#pragma once

#include <string>
#include <string_view>

#include "executable/quirks.h"

namespace tcc::sched {

// The message about a template that there is not.
std::string no_template(std::string_view name);
// What is wrong with a quirk of a template or of its configs, or "": the template, a parameter or
// a value that no space of it has.
std::string misspelled(const exec::Quirk& quirk);
// Whether `misspelled` knows the parameters of a template: those of templates that were added are
// taken as they are.
bool has_known_parameters(std::string_view template_name);

}  // namespace tcc::sched
