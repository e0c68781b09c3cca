// Parses the text that to_string(Kernel) writes.
#pragma once

#include <string_view>

#include "scheduler/kernel.h"

namespace tcc::sched {

// Fields that are not in the text (the comment, tensor maps, rates for the roofline) stay as in a
// new kernel. Throws Error(bad_input) naming the line; length and depth are limited. The kernel is
// not verified.
Kernel parse_kernel(std::string_view text);

}  // namespace tcc::sched
