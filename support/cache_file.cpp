#include "support/cache_file.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "support/error.h"
#include "support/file.h"
#include "support/system.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x0a4e52454b434354;  // "TCCKERN\n"
constexpr uint64_t kVersion = 1;

struct Header {
  uint64_t magic, version;
  uint64_t key_low, key_high;
  uint64_t bytes;
  uint64_t sum_low, sum_high;
};
static_assert(sizeof(Header) == 56 && std::is_trivially_copyable_v<Header>);
static_assert(std::endian::native == std::endian::little, "the file's byte order");

Hash128 checksum(const void* data, size_t size) { return Hasher{}.add_raw(data, size).digest(); }

struct CacheFile {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

// Temporaries that no running process can still be writing.
bool is_stale_temporary(const fs::path& path, fs::file_time_type used) {
  return path.extension() == ".tmp" &&
         fs::file_time_type::clock::now() - used > std::chrono::hours(1);
}

std::vector<CacheFile> list_folder(const fs::path& folder) {
  std::vector<CacheFile> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error),
      end;
  for (; !error && entry != end; entry.increment(error)) {
    std::error_code vanished;
    if (!entry->is_regular_file(vanished) || vanished) continue;
    const fs::file_time_type used = entry->last_write_time(vanished);
    const auto bytes = static_cast<int64_t>(entry->file_size(vanished));
    if (vanished) continue;
    if (is_stale_temporary(entry->path(), used)) fs::remove(entry->path(), vanished);
    if (entry->path().extension() == kCacheExtension) files.push_back({entry->path(), used, bytes});
  }
  return files;
}

}  // namespace

fs::path default_cache_folder() {
  if (const char* folder = std::getenv("TCC_CACHE_DIR"); folder && *folder) return folder;
  const fs::path caches = system::cache_home();
  return caches.empty() ? fs::path() : caches / "tcc";
}

std::string encode_cache_file(const Hash128& key, std::span<const uint8_t> code) {
  const Hash128 sum = checksum(code.data(), code.size());
  const Header header{kMagic, kVersion, key.low, key.high, code.size(), sum.low, sum.high};
  std::string bytes(sizeof header + code.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!code.empty()) std::memcpy(bytes.data() + sizeof header, code.data(), code.size());
  return bytes;
}

std::optional<std::vector<uint8_t>> decode_cache_file(const std::string& bytes, const Hash128& key,
                                                      std::string& damage) {
  Header header;
  damage = "truncated";
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  damage = "not a kernel of this version of tcc";
  if (header.magic != kMagic || header.version != kVersion) return std::nullopt;
  damage = "it holds another kernel";
  if (header.key_low != key.low || header.key_high != key.high) return std::nullopt;
  damage = "its size is wrong";
  if (header.bytes != bytes.size() - sizeof header) return std::nullopt;
  damage = "its checksum is wrong";
  const char* code = bytes.data() + sizeof header;
  if (checksum(code, header.bytes) != Hash128{header.sum_low, header.sum_high}) return std::nullopt;
  damage.clear();
  return std::vector<uint8_t>(code, code + header.bytes);
}

void write_cache_file(const fs::path& path, std::string_view content) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    fail_input(path.string(), ": is no regular file");
  write_file_atomic(path, content);
}

int64_t trim_cache_folder(const fs::path& folder, int64_t keep_bytes) {
  std::vector<CacheFile> files = list_folder(folder);
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) { return a.used < b.used; });
  int64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  for (const CacheFile& file : files) {
    if (total <= keep_bytes) break;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    total -= file.bytes;
  }
  return total;
}

}  // namespace tcc
