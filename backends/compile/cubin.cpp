#include "backends/compile/cubin.h"

#include <elf.h>

#include <algorithm>
#include <iterator>

namespace tcc::backends {

void each_section(
    std::span<const uint8_t> cubin,
    const std::function<void(std::string_view name, std::span<const uint8_t>)>& visit) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  auto section = [&](size_t i) {
    return read_at<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (one.sh_type == SHT_NOBITS) continue;
    TCC_CHECK(one.sh_offset <= cubin.size() && one.sh_size <= cubin.size() - one.sh_offset,
              "a cubin that ends early");
    visit(reinterpret_cast<const char*>(cubin.data() + names.sh_offset + one.sh_name),
          cubin.subspan(one.sh_offset, one.sh_size));
  }
}

void each_instruction(
    std::span<const uint8_t> cubin,
    const std::function<bool(unsigned operation, std::span<const uint8_t> instruction)>& visit) {
  constexpr size_t kInstruction = 16;
  constexpr unsigned kOperation = 0x1ff;  // of an instruction's first bits
  each_section(cubin, [&](std::string_view name, std::span<const uint8_t> text) {
    if (!name.starts_with(".text.")) return;
    for (size_t at = 0; at + kInstruction <= text.size(); at += kInstruction)
      if (!visit(read_at<uint16_t>(text, at) & kOperation, text.subspan(at, kInstruction))) return;
  });
}

bool waits_first(std::span<const uint8_t> cubin) {
  // LD LDG ST STG RED ATOM ATOMG LDGSTS. Copies of boxes stay where a source has them: they are
  // `asm volatile`, as the wait is.
  constexpr unsigned kAccesses[] = {0x180, 0x181, 0x185, 0x186, 0x18e, 0x18a, 0x1a8, 0x1ae};
  constexpr unsigned kLoad = 0x181;                                            // LDG
  constexpr unsigned kEvictionShift = 20, kEvictionMask = 7, kEvictFirst = 0;  // of its third word
  const auto is_of_fixed = [&](unsigned operation, std::span<const uint8_t> instruction) {
    return operation == kLoad &&
           (read_at<uint32_t>(instruction, 8) >> kEvictionShift & kEvictionMask) == kEvictFirst;
  };
  bool found = false, first = true;
  // Instructions after the wait or an access decide nothing more.
  each_instruction(cubin, [&](unsigned operation, std::span<const uint8_t> instruction) {
    const bool waits = operation == kWaitOperation,
               accesses = std::ranges::find(kAccesses, operation) != std::end(kAccesses) &&
                          !is_of_fixed(operation, instruction);
    found |= waits;
    first &= !accesses;
    return !waits && !accesses;
  });
  return found && first;
}

}  // namespace tcc::backends
