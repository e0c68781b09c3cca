// The code that the driver is given: it takes an address without a size, so that a truncated file
// must be found here.
#pragma once

#include <cstdint>
#include <span>

namespace tcc::runtime::cuda {

enum class Image : uint8_t { cubin, ptx, damaged };

// A cubin whose tables and sections all lie within the bytes, or NUL-terminated PTX; anything else
// is damaged.
Image kind_of_image(std::span<const uint8_t> code);

}  // namespace tcc::runtime::cuda
