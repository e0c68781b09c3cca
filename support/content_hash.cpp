#include "support/content_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "support/parallel.h"

namespace tcc {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kLanes = 8;
constexpr size_t kBlock = kLanes * sizeof(uint64_t);
constexpr size_t kChunk = size_t{1} << 20;  // hashed by itself
using Lanes = std::array<uint64_t, kLanes>;

// Digits of pi's fraction: the start of each lane and what its words are combined with.
constexpr Lanes kStart = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                          0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6c,
                          0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917};

// Each word goes into its own lane as a product of its halves, which depends on all of its bits and
// on the block's own keys, and into the neighbouring lane as it is, so that no word is lost where a
// product is zero.
void add_block(Lanes& lanes, Lanes& keys, const std::byte* block) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  Lanes words;
  std::memcpy(words.data(), block, kBlock);
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t mixed = words[i] ^ keys[i];
    lanes[i] += (mixed & 0xffffffff) * (mixed >> 32);
    lanes[i ^ 1] += words[i];
    keys[i] += kStep;
  }
}

// Keeps sums of many blocks from cancelling.
void scramble(Lanes& lanes) {
  constexpr uint64_t kPrime = 0x9e3779b185ebca87;
  for (size_t i = 0; i < kLanes; ++i)
    lanes[i] = (lanes[i] ^ (lanes[i] >> 47) ^ kStart[kLanes - 1 - i]) * kPrime;
}

Hash128 chunk_hash(std::span<const std::byte> chunk) {
  constexpr size_t kBlocksBetween = 16;
  Lanes lanes = kStart, keys = kStart;
  Hasher hasher;
  const size_t blocks = chunk.size() / kBlock;
  for (size_t i = 0; i < blocks; ++i) {
    add_block(lanes, keys, chunk.data() + i * kBlock);
    if (i % kBlocksBetween == kBlocksBetween - 1) scramble(lanes);
  }
  const std::span<const std::byte> rest = chunk.subspan(blocks * kBlock);
  return hasher.add_raw(lanes.data(), sizeof lanes).add(rest).digest();
}

}  // namespace

Hash128 content_hash(std::span<const std::byte> bytes) {
  const size_t chunks = (bytes.size() + kChunk - 1) / kChunk;
  std::vector<Hash128> hashes(chunks);
  parallel_for(0, static_cast<int64_t>(chunks), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t at = static_cast<size_t>(i) * kChunk;
      hashes[static_cast<size_t>(i)] =
          chunk_hash(bytes.subspan(at, std::min(kChunk, bytes.size() - at)));
    }
  });
  Hasher hasher;
  hasher.add(bytes.size());
  for (const Hash128& hash : hashes) hasher.add(hash);
  return hasher.digest();
}

}  // namespace tcc
