// Writes amounts of memory for messages.
#pragma once

#include <cstdint>
#include <string>

namespace tcc {

// "1.5 GiB", "640 bytes".
std::string bytes_text(int64_t bytes);

}  // namespace tcc
