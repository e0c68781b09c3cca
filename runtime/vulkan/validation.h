// Tests count the messages of the validation layer, which TCC_VULKAN_VALIDATION=1 turns on.
#pragma once

#include <cstdint>

namespace tcc::runtime::vulkan {

// Errors and warnings reported in this process; they are printed to standard error, too.
int64_t validation_message_count();

}  // namespace tcc::runtime::vulkan
