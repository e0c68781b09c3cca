// Reads text whose bytes may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace tcc {

// Returns the length of the valid UTF-8 sequence at the start of `text`, which is not empty, or 0.
size_t utf8_length(std::string_view text);
// The text behind the byte order mark that some editors begin files with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace tcc
