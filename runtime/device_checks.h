// Checks shared by all devices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "executable/kernel_label.h"
#include "runtime/device.h"
#include "support/bytes_text.h"
#include "support/error.h"

namespace tcc::runtime {

// TCC_CHECKs that [offset, offset + bytes) lies within a buffer of `size` bytes.
inline void check_range(int64_t offset, int64_t bytes, int64_t size) {
  TCC_CHECK(offset >= 0 && bytes >= 0 && offset <= size && bytes <= size - offset, "bytes ", offset,
            " to ", offset, " + ", bytes, " of a buffer of ", size);
}

using exec::label_of;

inline bool is_empty(const std::array<uint32_t, 3>& grid) {
  return grid[0] == 0 || grid[1] == 0 || grid[2] == 0;
}

// Throws Error(device) for a grid of more than `most` workgroups.
void check_grid(const std::array<int64_t, 3>& most, std::string_view device,
                std::string_view kernel, const std::array<uint32_t, 3>& grid);

// TCC_CHECKs that a fill is of whole words, and that sizes are not negative.
void check_words(const BoundStep& step);

// Returns the seconds after which a device that has not finished its work counts as hung: the
// environment variable TCC_DEVICE_TIMEOUT, else 120.
double device_timeout_seconds();

}  // namespace tcc::runtime
