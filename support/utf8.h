// Text as bytes that may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace tcc {

// The length of the valid UTF-8 sequence at the start of `text`, which is not empty, or 0.
size_t utf8_length(std::string_view text);

}  // namespace tcc
