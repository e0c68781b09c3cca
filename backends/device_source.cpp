#include "backends/device_source.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

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

std::vector<std::string_view> device_source_paths() {
  std::vector<std::string_view> paths;
  for (const EmbeddedFile& file : embedded_device_files()) paths.push_back(file.path);
  return paths;
}

}  // namespace tcc::backends
