#include "support/hash.h"

#include <cstring>

namespace tcc {
namespace {

// The key of the published test vectors: bytes 0, 1, ..., 15.
constexpr uint64_t kKey0 = 0x0706050403020100u, kKey1 = 0x0f0e0d0c0b0a0908u;

void sip_round(std::array<uint64_t, 4>& v) {
  v[0] += v[1], v[1] = std::rotl(v[1], 13), v[1] ^= v[0], v[0] = std::rotl(v[0], 32);
  v[2] += v[3], v[3] = std::rotl(v[3], 16), v[3] ^= v[2];
  v[0] += v[3], v[3] = std::rotl(v[3], 21), v[3] ^= v[0];
  v[2] += v[1], v[1] = std::rotl(v[1], 17), v[1] ^= v[2], v[2] = std::rotl(v[2], 32);
}

uint64_t load_little_endian(const unsigned char* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

std::string Hash128::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (uint64_t word : {low, high}) {
    for (int i = 0; i < 8; ++i, word >>= 8) {
      text += digits[word >> 4 & 15];
      text += digits[word & 15];
    }
  }
  return text;
}

Hasher::Hasher()
    : state_{kKey0 ^ 0x736f6d6570736575u, kKey1 ^ 0x646f72616e646f6du ^ 0xee,
             kKey0 ^ 0x6c7967656e657261u, kKey1 ^ 0x7465646279746573u} {}

Hasher& Hasher::add(std::string_view text) {
  return add_word(text.size()).add_raw(text.data(), text.size());
}

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  return add_word(bytes.size()).add_raw(bytes.data(), bytes.size());
}

Hasher& Hasher::add(const Hash128& hash) { return add_word(hash.low).add_word(hash.high); }

Hasher& Hasher::add_raw(const void* data, size_t size) {
  auto* bytes = static_cast<const unsigned char*>(data);
  auto* end = bytes + size;
  const auto push = [&](unsigned char byte) {
    pending_ |= static_cast<uint64_t>(byte) << (8 * (size_ % 8));
    if (++size_ % 8 == 0) {
      compress(pending_);
      pending_ = 0;
    }
  };
  while (bytes != end && size_ % 8 != 0) push(*bytes++);
  for (; end - bytes >= 8; bytes += 8, size_ += 8) compress(load_little_endian(bytes));
  while (bytes != end) push(*bytes++);
  return *this;
}

Hasher& Hasher::add_word(uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return add_raw(bytes, 8);
}

void Hasher::compress(uint64_t word) {
  state_[3] ^= word;
  sip_round(state_);
  sip_round(state_);
  state_[0] ^= word;
}

Hash128 Hasher::digest() const {
  Hasher last = *this;
  last.compress(pending_ | size_ << 56);
  auto& v = last.state_;
  const auto output = [&](uint64_t& word, uint64_t mark) {
    word ^= mark;
    for (int i = 0; i < 4; ++i) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  };
  const uint64_t low = output(v[2], 0xee);
  const uint64_t high = output(v[1], 0xdd);
  return {low, high};
}

Hash128 hash_of(std::string_view text) {
  return Hasher{}.add_raw(text.data(), text.size()).digest();
}

}  // namespace tcc
