#include "executable/spirv_words.h"

#include <cstring>

#include "support/error.h"

namespace tcc::exec {
namespace {

constexpr uint32_t kMagic = 0x07230203;

}  // namespace

std::vector<uint32_t> spirv_words(std::span<const uint8_t> code) {
  if (code.size() % 4 != 0 || code.size() < kSpirvHeaderWords * 4)
    fail_device("not a SPIR-V module: ", code.size(), " bytes");
  std::vector<uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), code.size());
  if (words[0] != kMagic) fail_device("not a SPIR-V module: it starts with 0x", std::hex, words[0]);
  return words;
}

std::vector<uint8_t> spirv_bytes(std::span<const uint32_t> words) {
  std::vector<uint8_t> bytes(words.size_bytes());
  if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace tcc::exec
