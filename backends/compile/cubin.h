// Reads cubins: NVIDIA's machine code, an ELF file.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>

#include "support/error.h"

namespace tcc::backends {

// Returns the T at byte `at`. Throws InternalError where the file ends before it.
template <class T>
T read_at(std::span<const uint8_t> bytes, size_t at) {
  T value;
  TCC_CHECK(at <= bytes.size() && sizeof value <= bytes.size() - at, "a cubin that ends early");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Returns the sections that have contents.
void each_section(
    std::span<const uint8_t> cubin,
    const std::function<void(std::string_view name, std::span<const uint8_t>)>& visit);

// Calls visit(operation, instruction) for the instructions of each kernel of a cubin of sm_90, in
// the order of the text, until it returns false: then the next kernel's follow.
void each_instruction(
    std::span<const uint8_t> cubin,
    const std::function<bool(unsigned operation, std::span<const uint8_t> instruction)>& visit);
// The operation that waits for the launch before (ACQBULK).
inline constexpr unsigned kWaitOperation = 0x02e;

// Returns whether the kernels of a cubin of sm_90 wait for the launch before them (ACQBULK) ahead
// of all their instructions that reach memory, in the order of the text. ptxas may move a load of
// read-only memory up past the wait; such a kernel must not overlap the launch before it. Loads of
// memory that no kernel writes may come before the wait: sources write them with L1::evict_first
// (gemv.cu), which nothing else has. So may copies of boxes (gemm_sm90.cu), which ptxas does not
// move.
bool waits_first(std::span<const uint8_t> cubin);

}  // namespace tcc::backends
