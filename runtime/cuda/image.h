// Checks the code that the driver is given. The driver takes an address without a size, so that a
// truncated file must be found here.
#pragma once

#include <cstdint>
#include <span>

namespace tcc::runtime::cuda {

enum class Image : uint8_t { cubin, ptx, damaged };

// Returns the kind of the bytes. A cubin has tables and sections that all lie within the bytes, and
// PTX ends with NUL; anything else is damaged.
Image kind_of_image(std::span<const uint8_t> code);

}  // namespace tcc::runtime::cuda
