// What tests read in cubins: ELF files of sections by name.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace tcc::test {

inline void each_section(
    const std::vector<uint8_t>& cubin,
    const std::function<void(std::string_view name, std::span<const uint8_t>)>& visit) {
  auto read = [&]<class T>(size_t at, T value) {
    TCC_CHECK(at + sizeof value <= cubin.size(), "a cubin that ends early");
    std::memcpy(&value, cubin.data() + at, sizeof value);
    return value;
  };
  const auto header = read(0, Elf64_Ehdr{});
  auto section = [&](size_t i) {
    return read(header.e_shoff + i * header.e_shentsize, Elf64_Shdr{});
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (one.sh_type == SHT_NOBITS) continue;
    TCC_CHECK(one.sh_offset + one.sh_size <= cubin.size(), "a cubin that ends early");
    visit(reinterpret_cast<const char*>(cubin.data() + names.sh_offset + one.sh_name),
          {cubin.data() + one.sh_offset, one.sh_size});
  }
}

// Whether a cubin of sm_90 waits for the launch before it (ACQBULK) ahead of all its instructions
// that reach memory, in the order of its text.
inline bool waits_first(const std::vector<uint8_t>& cubin) {
  constexpr size_t kInstruction = 16;
  constexpr unsigned kOperation = 0x1ff, kWait = 0x02e;  // of an instruction's first bits
  // LD LDG ST STG RED ATOM ATOMG LDGSTS UTMALDG
  constexpr unsigned kAccesses[] = {0x180, 0x181, 0x185, 0x186, 0x18e, 0x18a, 0x1a8, 0x1ae, 0x1b4};
  bool found = false, first = true;
  each_section(cubin, [&](std::string_view name, std::span<const uint8_t> bytes) {
    if (!name.starts_with(".text.")) return;
    bool waited = false;
    for (size_t at = 0; at + kInstruction <= bytes.size(); at += kInstruction) {
      const unsigned operation = (bytes[at] | unsigned{bytes[at + 1]} << 8) & kOperation;
      waited = waited || operation == kWait;
      for (const unsigned access : kAccesses) first = first && (waited || operation != access);
    }
    found = found || waited;
  });
  return found && first;
}

}  // namespace tcc::test
