#include "support/content_hash.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tcc {
namespace {

// Bytes without a period that is a power of two.
std::vector<std::byte> pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
  return bytes;
}

TEST(ContentHash, EveryByteAndTheSizeMatter) {
  for (const size_t size : {0, 1, 7, 63, 64, 65, 1000, 4096}) {
    std::set<Hash128> seen = {content_hash(std::vector<std::byte>(size))};
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = std::byte{1};
      EXPECT_TRUE(seen.insert(content_hash(bytes)).second) << size << " " << i;
      bytes[i] = std::byte{0x80};
      EXPECT_TRUE(seen.insert(content_hash(bytes)).second) << size << " " << i;
      bytes[i] = std::byte{};
    }
    bytes.push_back(std::byte{});
    EXPECT_TRUE(seen.insert(content_hash(bytes)).second) << size;
  }
}

TEST(ContentHash, TheOrderOfBlocksAndChunksMatters) {
  constexpr size_t kChunk = size_t{1} << 20;
  const std::vector<std::byte> bytes = pattern(3 * kChunk + 5);
  std::set<Hash128> seen = {content_hash(bytes)};
  for (const size_t distance : {size_t{8}, size_t{64}, size_t{1024}, kChunk}) {
    for (const size_t at : {size_t{0}, size_t{4096}, kChunk}) {
      std::vector<std::byte> swapped = bytes;
      for (size_t i = 0; i < std::min(distance, size_t{64}); ++i)
        std::swap(swapped[at + i], swapped[at + distance + i]);
      EXPECT_TRUE(seen.insert(content_hash(swapped)).second) << distance << " " << at;
    }
  }
}

// The value is in files: it must not change.
TEST(ContentHash, HasFixedValues) {
  EXPECT_EQ(content_hash({}).hex(), "c293ab68efe6f296bd92a49d6257801d");
  EXPECT_EQ(content_hash(pattern(100'000)).hex(), "8f714d932a0072ca6d25a3330a430451");
}

}  // namespace
}  // namespace tcc
