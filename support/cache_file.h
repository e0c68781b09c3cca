// The cache's folder, and the format of one file in it: magic, version, key, size and checksum
// before the code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"

namespace tcc {

// Returns $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else ~/.cache/tcc (Windows:
// %LOCALAPPDATA%\\tcc);
// "" when none of them is set.
std::filesystem::path default_cache_folder();

inline constexpr const char* kCacheExtension = ".tcck";
inline constexpr int64_t kMaxCacheFileBytes = int64_t{256} << 20;

std::string encode_cache_file(const Hash128& key, std::span<const uint8_t> code);

// Returns the code, or nothing, with the reason in `damage`, when the bytes are not a whole file of
// this key.
std::optional<std::vector<uint8_t>> decode_cache_file(const std::string& bytes, const Hash128& key,
                                                      std::string& damage);

// write_file_atomic() for what no user names: a pipe or device that stands in its place is an
// Error(bad_input). Opening a pipe could wait for ever.
void write_cache_file(const std::filesystem::path& path, std::string_view content);

// Removes the files of the cache `folder` that were not used for the longest time, until they take
// at most `keep_bytes` together, and unfinished files of crashed writers. Returns the bytes that
// remain. Files that vanish meanwhile are no error.
int64_t trim_cache_folder(const std::filesystem::path& folder, int64_t keep_bytes);

}  // namespace tcc
