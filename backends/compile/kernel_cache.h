// Compiled kernels on disk are named by the hash of everything that they were compiled from.
//
// One file per kernel, published by atomic rename, so that several processes and threads may share
// a folder. A damaged file counts as absent: it is reported once and replaced by the next insert.
// When the folder outgrows its cap, the files that were not used for the longest time go first.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/cache_file.h"
#include "support/hash.h"

namespace tcc::backends {

// A key has everything that the compiled code depends on.
Hash128 kernel_key(std::string_view source, std::string_view flags, std::string_view compiler_id,
                   std::string_view arch);

class KernelCache {
 public:
  static constexpr int64_t kDefaultMaxBytes = int64_t{1} << 30;

  // `folder` "" or one that cannot be written: entries live in memory only, as long as this object.
  // `max_bytes` limits the entries together.
  explicit KernelCache(std::filesystem::path folder = default_cache_folder(),
                       int64_t max_bytes = kDefaultMaxBytes);

  // Both are thread-safe and never throw because of the disk's state.
  std::optional<std::vector<uint8_t>> find(const Hash128& key);
  void insert(const Hash128& key, std::span<const uint8_t> code);

  bool on_disk() const { return on_disk_; }
  std::filesystem::path file_of(const Hash128& key) const;

 private:
  bool insert_on_disk(const Hash128& key, std::span<const uint8_t> code);
  void insert_in_memory(const Hash128& key, std::span<const uint8_t> code);
  void account(int64_t bytes);
  void warn_once(const std::string& message);

  const std::filesystem::path folder_;
  const int64_t max_bytes_;
  std::atomic<bool> on_disk_ = false;
  std::atomic<bool> warned_ = false;

  std::mutex mutex_;         // of what follows
  int64_t disk_bytes_ = -1;  // an estimate; -1 before the folder was first listed
  int64_t memory_bytes_ = 0;
  std::map<Hash128, std::vector<uint8_t>> memory_;
};

}  // namespace tcc::backends
