#include "backends/device_source.h"

#include <cstdlib>
#include <filesystem>
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

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

void append_resolved(std::string_view text, std::string_view folder,
                     std::set<std::string>& included, std::string& result) {
  constexpr std::string_view kInclude = "#include \"", kRoot = "backends/device/";
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line == "#pragma once") continue;
    if (!line.starts_with(kInclude)) {
      result += line + "\n";
      continue;
    }
    const std::string name = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
    const std::string path =
        name.starts_with(kRoot)
            ? name.substr(kRoot.size())
            : std::filesystem::path(std::string(folder) + name).lexically_normal().generic_string();
    if (included.insert(path).second)
      append_resolved(device_source(path), folder_of(path), included, result);
  }
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
  return resolve_device_includes(device_source(path), folder_of(path));
}

std::string resolve_device_includes(std::string_view text, std::string_view folder) {
  std::set<std::string> included;
  std::string result;
  append_resolved(text, folder, included, result);
  return result;
}

std::vector<std::string_view> device_source_paths() {
  std::vector<std::string_view> paths;
  for (const EmbeddedFile& file : embedded_device_files()) paths.push_back(file.path);
  return paths;
}

}  // namespace tcc::backends
