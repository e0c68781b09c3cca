// Places in a range of bytes: best fit, neighbours that become free are joined. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tcc::runtime::vulkan {

class Places {
 public:
  // All offsets and sizes are multiples of this, in bytes.
  static constexpr int64_t kGrain = 256;

  // The bytes of a place for `bytes`, which are at least 0.
  static int64_t rounded(int64_t bytes);

  // `bytes` is a positive multiple of kGrain.
  explicit Places(int64_t bytes);

  // The offset of a new place of at least `bytes`; nothing when no free range is that long.
  std::optional<int64_t> take(int64_t bytes);
  // TCC_CHECKs that a place begins at `offset`.
  void give_back(int64_t offset);

  bool is_empty() const { return taken_.empty(); }
  int64_t taken_bytes() const { return taken_bytes_; }
  // Returns the bytes from `offset` to the end of the place that holds it; 0 where none does.
  int64_t bytes_from(int64_t offset) const;

 private:
  void add_free(int64_t offset, int64_t bytes);
  void remove_free(int64_t offset, int64_t bytes);

  std::map<int64_t, int64_t> taken_, free_;         // offset -> bytes
  std::set<std::pair<int64_t, int64_t>> by_bytes_;  // free ones: bytes, offset
  int64_t taken_bytes_ = 0;
};

}  // namespace tcc::runtime::vulkan
