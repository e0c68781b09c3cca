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

bool waits_first(std::span<const uint8_t> cubin) {
  constexpr size_t kInstruction = 16;
  constexpr unsigned kOperation = 0x1ff, kWait = 0x02e;  // of an instruction's first bits
  // LD LDG ST STG RED ATOM ATOMG LDGSTS. Copies of boxes stay where a source has them: they are
  // `asm volatile`, as the wait is.
  constexpr unsigned kAccesses[] = {0x180, 0x181, 0x185, 0x186, 0x18e, 0x18a, 0x1a8, 0x1ae};
  constexpr unsigned kLoad = 0x181;                                            // LDG
  constexpr unsigned kEvictionShift = 20, kEvictionMask = 7, kEvictFirst = 0;  // of its third word
  const auto is_of_fixed = [&](unsigned operation, std::span<const uint8_t> text, size_t at) {
    return operation == kLoad &&
           (read_at<uint32_t>(text, at + 8) >> kEvictionShift & kEvictionMask) == kEvictFirst;
  };
  bool found = false, first = true;
  each_section(cubin, [&](std::string_view name, std::span<const uint8_t> text) {
    if (!name.starts_with(".text.")) return;
    // Instructions after the wait or an access decide nothing more.
    for (size_t at = 0; at + kInstruction <= text.size(); at += kInstruction) {
      const unsigned operation = read_at<uint16_t>(text, at) & kOperation;
      if (operation == kWait) {
        found = true;
        return;
      }
      if (std::ranges::find(kAccesses, operation) != std::end(kAccesses) &&
          !is_of_fixed(operation, text, at)) {
        first = false;
        return;
      }
    }
  });
  return found && first;
}

}  // namespace tcc::backends
