#include "runtime/vulkan/places.h"

#include <algorithm>
#include <iterator>

#include "support/error.h"

namespace tcc::runtime::vulkan {

int64_t Places::rounded(int64_t bytes) {
  TCC_CHECK(bytes >= 0 && bytes <= INT64_MAX - kGrain, bytes, " bytes");
  return std::max((bytes + kGrain - 1) / kGrain * kGrain, kGrain);
}

Places::Places(int64_t bytes) {
  TCC_CHECK(bytes > 0 && bytes % kGrain == 0, bytes, " bytes");
  add_free(0, bytes);
}

void Places::add_free(int64_t offset, int64_t bytes) {
  free_[offset] = bytes;
  by_bytes_.emplace(bytes, offset);
}

void Places::remove_free(int64_t offset, int64_t bytes) {
  free_.erase(offset);
  by_bytes_.erase({bytes, offset});
}

std::optional<int64_t> Places::take(int64_t bytes) {
  bytes = rounded(bytes);
  const auto found = by_bytes_.lower_bound({bytes, 0});
  if (found == by_bytes_.end()) return std::nullopt;
  const auto [length, offset] = *found;
  remove_free(offset, length);
  if (length > bytes) add_free(offset + bytes, length - bytes);
  taken_[offset] = bytes;
  taken_bytes_ += bytes;
  return offset;
}

void Places::give_back(int64_t offset) {
  const auto place = taken_.find(offset);
  TCC_CHECK(place != taken_.end(), "no place begins at ", offset);
  int64_t begin = offset, bytes = place->second;
  taken_bytes_ -= bytes;
  taken_.erase(place);
  if (const auto next = free_.find(begin + bytes); next != free_.end()) {
    const auto [at, length] = *next;
    remove_free(at, length);
    bytes += length;
  }
  if (const auto next = free_.lower_bound(begin); next != free_.begin()) {
    const auto [at, length] = *std::prev(next);
    if (at + length == begin) {
      remove_free(at, length);
      begin = at;
      bytes += length;
    }
  }
  add_free(begin, bytes);
}

int64_t Places::bytes_from(int64_t offset) const {
  const auto next = taken_.upper_bound(offset);
  if (next == taken_.begin()) return 0;
  const auto [at, length] = *std::prev(next);
  return std::max<int64_t>(at + length - offset, 0);
}

}  // namespace tcc::runtime::vulkan
