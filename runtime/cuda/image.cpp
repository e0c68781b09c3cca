#include "runtime/cuda/image.h"

#include <cstring>
#include <string_view>

namespace tcc::runtime::cuda {
namespace {

// The parts of ELF that a cubin's check needs, by the names of the format's description: not every
// system has elf.h.
struct Header {
  uint8_t e_ident[16];
  uint16_t e_type, e_machine;
  uint32_t e_version;
  uint64_t e_entry, e_phoff, e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
};
struct Section {
  uint32_t sh_name, sh_type;
  uint64_t sh_flags, sh_addr, sh_offset, sh_size;
  uint32_t sh_link, sh_info;
  uint64_t sh_addralign, sh_entsize;
};
static_assert(sizeof(Header) == 64 && sizeof(Section) == 64);

constexpr std::string_view kMagic = "\177ELF";
constexpr size_t kClass = 4, kData = 5;  // of e_ident
constexpr uint8_t kClass64 = 2, kLittleEndian = 1;
constexpr uint32_t kNoBits = 8;  // a section that takes no bytes of the file
constexpr size_t kProgramHeaderBytes = 56;
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
  if (code.size() < sizeof(Header)) return false;
  const auto header = entry_at<Header>(code, 0, 0);
  if (header.e_ident[kClass] != kClass64 || header.e_ident[kData] != kLittleEndian ||
      header.e_machine != kMachineCuda)
    return false;
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Section) ||
      !fits(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Section), code.size()))
    return false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry_at<Section>(code, header.e_shoff, i);
    if (section.sh_type != kNoBits && !fits(section.sh_offset, section.sh_size, code.size()))
      return false;
  }
  return header.e_phnum == 0 ||
         (header.e_phentsize == kProgramHeaderBytes &&
          fits(header.e_phoff, uint64_t{header.e_phnum} * kProgramHeaderBytes, code.size()));
}

}  // namespace

Image kind_of_image(std::span<const uint8_t> code) {
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  if (text.starts_with(kMagic)) return is_whole_cubin(code) ? Image::cubin : Image::damaged;
  if (code.empty() || code.back() != 0) return Image::damaged;
  return text.find(".version") != text.npos ? Image::ptx : Image::damaged;
}

}  // namespace tcc::runtime::cuda
