#include "backends/compile/kernel_cache.h"

#include <unistd.h>

#include <chrono>
#include <limits>
#include <system_error>

#include "support/cache_warning.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

bool is_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return !error && fs::is_directory(folder, error) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

// Remembers that the file is in use, at most once an hour: a read should not always cost a write.
void touch(const fs::path& file) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  const auto used = fs::last_write_time(file, ignored);
  if (!ignored && now - used > std::chrono::hours(1)) fs::last_write_time(file, now, ignored);
}

}  // namespace

Hash128 kernel_key(std::string_view source, std::string_view flags, std::string_view compiler_id,
                   std::string_view arch) {
  return Hasher{}.add("tcc kernel").add(source).add(flags).add(compiler_id).add(arch).digest();
}

KernelCache::KernelCache(fs::path folder, int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {
  if (folder_.empty()) return;
  on_disk_ = is_writable_folder(folder_);
  if (!on_disk_) warn_of_unwritable_cache(folder_, "");
}

fs::path KernelCache::file_of(const Hash128& key) const {
  const std::string name = key.hex();
  return folder_ / "kernels" / name.substr(0, 2) / (name + kCacheExtension);
}

std::optional<std::vector<uint8_t>> KernelCache::find(const Hash128& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto entry = memory_.find(key); entry != memory_.end()) return entry->second;
  }
  if (!on_disk_) return std::nullopt;
  const fs::path file = file_of(key);
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  std::string damage;
  try {
    auto code = decode_cache_file(read_file(file, kMaxCacheFileBytes), key, damage);
    if (code) touch(file);
    if (code) return code;
  } catch (const Error& unreadable) {
    if (!fs::exists(file, error)) return std::nullopt;  // another process has just evicted it
    damage = unreadable.what();
  }
  warn_once(str(file.string(), ": ", damage, "; the kernel is compiled again"));
  return std::nullopt;
}

void KernelCache::insert(const Hash128& key, std::span<const uint8_t> code) {
  if (!on_disk_ || !insert_on_disk(key, code)) insert_in_memory(key, code);
}

bool KernelCache::insert_on_disk(const Hash128& key, std::span<const uint8_t> code) {
  if (static_cast<int64_t>(code.size()) > kMaxCacheFileBytes) return false;
  const fs::path file = file_of(key);
  const std::string bytes = encode_cache_file(key, code);
  try {
    fs::create_directories(file.parent_path());
    write_cache_file(file, bytes);
  } catch (const std::exception& error) {  // a full or read-only disk is no reason to stop
    warn_of_unwritable_cache(folder_, error.what());
    on_disk_ = false;
    return false;
  }
  account(static_cast<int64_t>(bytes.size()));
  return true;
}

void KernelCache::account(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const fs::path folder = folder_ / "kernels";
  disk_bytes_ = disk_bytes_ < 0 ? trim_cache_folder(folder, std::numeric_limits<int64_t>::max())
                                : disk_bytes_ + bytes;
  // Leaves room, so that not every later insert lists the folder.
  if (disk_bytes_ > max_bytes_) disk_bytes_ = trim_cache_folder(folder, max_bytes_ / 4 * 3);
}

void KernelCache::insert_in_memory(const Hash128& key, std::span<const uint8_t> code) {
  const std::lock_guard lock(mutex_);
  const auto bytes = static_cast<int64_t>(code.size());
  if (memory_bytes_ + bytes > max_bytes_) {
    memory_.clear();
    memory_bytes_ = 0;
  }
  if (bytes > max_bytes_) return;
  if (memory_.emplace(key, std::vector<uint8_t>(code.begin(), code.end())).second)
    memory_bytes_ += bytes;
}

void KernelCache::warn_once(const std::string& message) {
  if (!warned_.exchange(true)) log_text(LogLevel::warning, LogChannel::cache, message);
}

}  // namespace tcc::backends
