// The device math library (backends/device/common), cut into sections: a kernel's text holds only
// those that it uses.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tcc::backends {

// The text of the sections `names` ("exp_f32", "f32_to_bf16") and of all that they need, in the
// library's order. Throws InternalError for an unknown name.
std::string library_sections(const std::set<std::string>& names);

// The sections that `text` calls, found by their names (tcc_<section>).
std::set<std::string> sections_used(std::string_view text);

}  // namespace tcc::backends
