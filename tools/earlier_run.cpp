#include "tools/earlier_run.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "support/error.h"
#include "support/file.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

// Returns whether an earlier run may have written a file of that name: "003_matmul_add.cu".
bool is_kernel_file(std::string_view name) {
  constexpr std::array<std::string_view, 5> kEndings = {"cu", "cubin", "ptx", "comp", "spv"};
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const size_t dot = name.rfind('.');
  return digits >= 3 && digits < name.size() && name[digits] == '_' &&
         name.find('/') == std::string_view::npos && dot != std::string_view::npos &&
         std::ranges::find(kEndings, name.substr(dot + 1)) != kEndings.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_dim_and_size(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) return false;
  const std::string_view name = text.substr(0, equals), size = text.substr(equals + 1);
  return is_letter(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); }) &&
         std::ranges::all_of(size, is_digit);
}

}  // namespace

bool is_variant_folder(std::string_view name) {
  for (size_t comma = 0; (comma = name.find(',')) != std::string_view::npos;
       name.remove_prefix(comma + 1))
    if (!is_dim_and_size(name.substr(0, comma))) return false;
  return is_dim_and_size(name);
}

void remove_earlier_run(const fs::path& folder) {
  constexpr int64_t kMaxBytes = int64_t{256} << 20;
  const fs::path file = folder / "manifest.json";
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return;
  const nlohmann::json manifest = nlohmann::json::parse(read_file(file, kMaxBytes), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("tcc_manifest"))
    fail_input(file.string(),
               ": would be overwritten and is not tcc-compile's; remove it, or name "
               "another folder");
  const nlohmann::json kernels =
      manifest.contains("kernels") ? manifest["kernels"] : nlohmann::json::array();
  for (const nlohmann::json& kernel : kernels)
    for (const char* key : {"source", "binary"}) {
      if (!kernel.is_object() || !kernel.contains(key) || !kernel[key].is_string()) continue;
      const auto name = kernel[key].get<std::string>();
      if (is_kernel_file(name)) fs::remove(folder / name, error);
    }
  fs::remove(file, error);
  if (!manifest.contains("variants") || !manifest["variants"].is_array()) return;
  for (const nlohmann::json& variant : manifest["variants"]) {
    if (!variant.is_string() || !is_variant_folder(variant.get<std::string>())) continue;
    const fs::path below = folder / variant.get<std::string>();
    if (fs::is_symlink(below, error)) continue;
    remove_earlier_run(below);
    fs::remove(below, error);  // where nothing else is in it
  }
}

}  // namespace tcc::tools
