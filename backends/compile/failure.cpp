#include "backends/compile/failure.h"

#include <cctype>

#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

constexpr int kMessageLines = 8;

std::string first_lines(const std::string& text) {
  size_t end = 0;
  for (int line = 0; line < kMessageLines && end != std::string::npos; ++line)
    end = text.find('\n', end + 1);
  std::string lines = text.substr(0, end);
  while (!lines.empty() && (lines.back() == '\n' || lines.back() == '\0')) lines.pop_back();
  return lines;
}

}  // namespace

std::string source_file_name(std::string name, const std::string& ending) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  return name.substr(0, 100) + ending;
}

void fail_compile(const std::string& source, const std::string& name, const std::string& ending,
                  const std::string& target, const std::filesystem::path& dump_folder,
                  const std::string& messages) {
  std::string place;
  if (!dump_folder.empty()) {
    const std::filesystem::path path = dump_folder / source_file_name(name, ending);
    write_file_atomic(path, source);
    place = str(" (source in ", path.string(), ")");
  }
  fail_device("kernel ", name, " does not compile", target.empty() ? "" : " ", target, place, ":\n",
              first_lines(messages));
}

}  // namespace tcc::backends
