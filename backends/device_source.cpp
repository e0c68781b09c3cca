#include "backends/device_source.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "support/error.h"

namespace tcc::backends {
namespace {

std::string read_override(const std::string& folder, std::string_view path) {
  std::ifstream file(folder + "/" + std::string(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) fail_input("TCC_DEVICE_DIR: cannot read ", path, " in ", folder);
  return text;
}

}  // namespace

std::string device_source(std::string_view path) {
  if (const char* folder = std::getenv("TCC_DEVICE_DIR"); folder && *folder)
    return read_override(folder, path);
  for (const EmbeddedFile& file : embedded_device_files())
    if (file.path == path) return std::string(file.text);
  throw InternalError(str("no device source file ", path, " is embedded"));
}

std::string device_source_with_includes(std::string_view path) {
  constexpr std::string_view kInclude = "#include \"";
  const std::string folder(path.substr(0, path.rfind('/') + 1));
  std::istringstream lines(device_source(path));
  std::set<std::string> included;
  std::string text, line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(kInclude)) {
      text += line + "\n";
      continue;
    }
    const size_t end = line.find('"', kInclude.size());
    const std::string name = folder + line.substr(kInclude.size(), end - kInclude.size());
    if (included.insert(name).second) text += device_source(name);
  }
  return text;
}

std::vector<std::string_view> device_source_paths() {
  std::vector<std::string_view> paths;
  for (const EmbeddedFile& file : embedded_device_files()) paths.push_back(file.path);
  return paths;
}

}  // namespace tcc::backends
