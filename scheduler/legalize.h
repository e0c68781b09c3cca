// The passes that restrict a kernel to what its target can do. No target decision is made after
// them: the emitter only spells.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "scheduler/kernel.h"

namespace tcc::sched {

struct KernelPass {
  std::string_view name;
  void (*run)(Kernel& kernel, const Target& target);
};
// Returns the passes in their order. The kernel is verified before the first one and after each.
std::span<const KernelPass> legalize_passes();

using AfterKernelPass = std::function<void(std::string_view pass, const Kernel& kernel)>;
Kernel legalize(Kernel kernel, const Target& target, const AfterKernelPass& after);

// The passes that have files of their own.
// Threads whose values one thread reads in one exchange through shared memory.
inline constexpr int64_t kExchangeThreads = 16;
// Combinations of threads become shuffles and shared memory; those of a cluster's workgroups become
// bytes that are sent and awaited.
void lower_exchanges(Kernel& kernel, const Target& target);
// Removes casts to a 16-bit float right before a store to a buffer of that type, which rounds.
void drop_stored_rounding(Kernel& kernel);
// Fills in Kernel::requirements.
void find_requirements(Kernel& kernel, const Target& target);

// The extension that a buffer of `dtype` needs: "storage16", "storage8" or "".
std::string_view storage_extension(DType dtype);

// Elements that one access of `stmt`, a load_vector or store_vector, moves: as many as the address
// is known to be a multiple of, at most 16 bytes; 1 where that is no whole 32-bit word.
int vector_elements(const Kernel& kernel, const Stmt& stmt);
// Whether a load_vector reads two elements of 8 bits at an even place, which languages with
// Dialect::half_word_load read as one.
bool is_half_word(const Kernel& kernel, const Stmt& stmt);

}  // namespace tcc::sched
