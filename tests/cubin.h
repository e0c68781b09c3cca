// What a compiled CUDA kernel says of itself.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace tcc::test {

// Bytes of the stack frame of a cubin's kernel, where spilled registers and indexed arrays lie:
// what its compiler says in section .nv.info.
inline int64_t frame_bytes(const std::vector<uint8_t>& cubin) {
  auto read = [&]<class T>(size_t at, T) {
    T value;
    TCC_CHECK(at + sizeof value <= cubin.size(), "a cubin that ends early");
    std::memcpy(&value, cubin.data() + at, sizeof value);
    return value;
  };
  constexpr uint8_t kSized = 4, kFrameSize = 0x11;
  const auto header = read(0, Elf64_Ehdr{});
  auto section = [&](size_t i) {
    return read(header.e_shoff + i * header.e_shentsize, Elf64_Shdr{});
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  int64_t bytes = -1;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    const auto* name = reinterpret_cast<const char*>(cubin.data() + names.sh_offset + info.sh_name);
    if (std::string_view(name) != ".nv.info") continue;
    for (size_t at = info.sh_offset; at < info.sh_offset + info.sh_size;) {
      const auto format = read(at, uint8_t{}), attribute = read(at + 1, uint8_t{});
      const auto size = read(at + 2, uint16_t{});
      if (attribute == kFrameSize) bytes = std::max<int64_t>(bytes, read(at + 8, uint32_t{}));
      at += 4 + (format == kSized ? size : 0);
    }
  }
  return bytes;
}

}  // namespace tcc::test
