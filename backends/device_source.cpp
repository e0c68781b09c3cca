#include "backends/device_source.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

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
  constexpr std::string_view kRepeated = ".body";
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "#pragma once") continue;
    if (!line.starts_with(kInclude)) {
      result.append(line).push_back('\n');
      continue;
    }
    const std::string_view name = line.substr(kInclude.size(), line.rfind('"') - kInclude.size());
    const std::string path =
        name.starts_with(kRoot)
            ? std::string(name.substr(kRoot.size()))
            : std::filesystem::path(str(folder, name)).lexically_normal().generic_string();
    if (path.ends_with(kRepeated) || included.insert(path).second)
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
