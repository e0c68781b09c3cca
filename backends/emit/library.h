// The device math library (backends/device/common), cut into sections: a kernel's text holds only
// those that it uses.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tcc::backends {

// The needs of text that is a file or a part of one.
struct TextFacts {
  std::set<std::string> functions;  // names of sections
  bool int64 = false;               // it has 64-bit integers
};
// Finds those of a device source by its words. Generated text is made of IR, whose facts
// legalize finds (sched::Requirements); there this is the printer's check.
TextFacts facts_of_text(std::string_view text);

struct LibraryText {
  std::string text;
  bool int64 = false;
};
// The sections `names` ("exp_f32", "f32_to_bf16") and all that they need, in the library's order.
// Functions of the prelude have no section. Throws InternalError for a section that needs an
// unknown one.
LibraryText library_sections(const std::set<std::string>& names);

}  // namespace tcc::backends
