#include "runtime/cuda/image.h"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace tcc::runtime::cuda {
namespace {

constexpr uint16_t kMachineCuda = 190;

bool fits(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

// Entry `i` of a table; the caller has checked that it lies within the bytes.
template <class Entry>
Entry entry_at(std::span<const uint8_t> code, uint64_t table, uint64_t i) {
  Entry entry;
  std::memcpy(&entry, code.data() + table + i * sizeof(Entry), sizeof entry);
  return entry;
}

bool is_whole_cubin(std::span<const uint8_t> code) {
  if (code.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = entry_at<Elf64_Ehdr>(code, 0, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachineCuda)
    return false;
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !fits(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), code.size()))
    return false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry_at<Elf64_Shdr>(code, header.e_shoff, i);
    if (section.sh_type != SHT_NOBITS && !fits(section.sh_offset, section.sh_size, code.size()))
      return false;
  }
  return header.e_phnum == 0 ||
         (header.e_phentsize == sizeof(Elf64_Phdr) &&
          fits(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), code.size()));
}

}  // namespace

Image kind_of_image(std::span<const uint8_t> code) {
  if (code.size() >= SELFMAG && std::memcmp(code.data(), ELFMAG, SELFMAG) == 0)
    return is_whole_cubin(code) ? Image::cubin : Image::damaged;
  if (code.empty() || code.back() != 0) return Image::damaged;
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  return text.find(".version") != text.npos ? Image::ptx : Image::damaged;
}

}  // namespace tcc::runtime::cuda
