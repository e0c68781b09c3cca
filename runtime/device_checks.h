// Checks shared by all devices.
#pragma once

#include <cstdint>
#include <string>

#include "support/bytes_text.h"
#include "support/error.h"

namespace tcc::runtime {

// TCC_CHECKs that [offset, offset + bytes) lies within a buffer of `size` bytes.
inline void check_range(int64_t offset, int64_t bytes, int64_t size) {
  TCC_CHECK(offset >= 0 && bytes >= 0 && offset <= size && bytes <= size - offset, "bytes ", offset,
            " to ", offset, " + ", bytes, " of a buffer of ", size);
}

// How long a device may take for what was asked of it before it counts as hung: the environment
// variable TCC_DEVICE_TIMEOUT, in seconds, else 120.
double device_timeout_seconds();

}  // namespace tcc::runtime
