// Facts of Vulkan's targets, devices and profiles alike.
#pragma once

#include "executable/target.h"

namespace tcc::exec {

// Matrix products load so many bytes at once: Target::matrix_row_bytes where there are units.
inline constexpr int64_t kVulkanMatrixRowBytes = 16;

// Sets what all of them have in common: kernels are compiled for one size of subgroups.
inline void set_vulkan_facts(Target& target) {
  target.api = Api::vulkan;
  target.fixed_subgroups = true;
}

// For AMD's compiler, by what it spilled of convolutions on FMA units on RDNA 2 and 3.
inline constexpr int kAmdLoadRegisters = 8;

}  // namespace tcc::exec
