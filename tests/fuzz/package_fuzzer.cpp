// libFuzzer target for the reader of packages: whatever it takes is within its bytes, and gives the
// same bytes when it is written again.
#include <cstdlib>
#include <string>
#include <vector>

#include "executable/package.h"
#include "support/content_hash.h"
#include "support/error.h"

namespace {

using namespace tcc;  // NOLINT: a program

void read_all(const std::vector<std::byte>& bytes) try {
  const exec::Package package(nullptr, bytes, "fuzzed");
  exec::PackageContents again;
  again.name = package.name();
  for (size_t i = 0; i < package.parts().size(); ++i) {
    exec::Executable part = package.executable(i);
    for (size_t k = 0; k < part.constants.size(); ++k)
      if (std::ssize(part.store->load(k).bytes) != part.constants[k].bytes) std::abort();
    again.parts.push_back(std::move(part));
  }
  exec::write_package(again, [](std::span<const std::byte>) {});
} catch (const Error& error) {
  if (error.kind() != ErrorKind::bad_input) std::abort();
  if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
}

// A fuzzer does not find checksums: the manifest and the executables get those of what they are.
void seal(std::vector<std::byte>& bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t end = text.find("\nend: ");
  if (end == text.npos || text.size() - end < 39) return;
  size_t section = (end + 39 + 63) / 64 * 64;
  for (size_t at = 0; (at = text.find("\npart: ", at)) < end; ++at) {
    const size_t line_end = text.find('\n', at + 1);
    const size_t bar = text.find(" | ", at);
    if (bar == text.npos || line_end == text.npos || line_end < 32 || bar + 38 > line_end) break;
    const size_t size = std::strtoull(text.c_str() + bar + 3, nullptr, 10);
    if (section > text.size() || size > text.size() - section) break;
    const Hash128 key = content_hash(std::span(bytes).subspan(section, size));
    text.replace(line_end - 32, 32, key.hex());
    section = (section + size + 63) / 64 * 64;
  }
  const std::string manifest = text.substr(0, end + 1);
  text.replace(end + 6, 32, content_hash(std::as_bytes(std::span(manifest))).hex());
  const auto sealed = std::as_bytes(std::span(text));
  bytes.assign(sealed.begin(), sealed.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  read_all(bytes);
  seal(bytes);
  read_all(bytes);
  return 0;
}
