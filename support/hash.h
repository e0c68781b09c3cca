// A 128-bit content hash for cache keys and signatures: SipHash-2-4-128 (Aumasson, Bernstein) under
// a fixed, public key.
//
// Accidental collisions are out of the question (about 2^-64 for 2^32 keys); with a public key it
// does not withstand someone who constructs collisions on purpose, so a cache entry's content must
// never be trusted because of its name. The value is the same on every machine and in every version
// of tcc: it appears in file names and tuning files.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tcc {

struct Hash128 {
  uint64_t low = 0, high = 0;

  // 32 lower-case digits: the bytes in SipHash's published order.
  std::string hex() const;
  auto operator<=>(const Hash128&) const = default;
};

// Incremental: Hasher{}.add("matmul").add(128).add(flag).hex(). Every add() is delimited, so ("ab",
// "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();

  Hasher& add(std::string_view text);
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(const Hash128& hash);
  template <std::integral T>
  Hasher& add(T value) {
    return add_word(static_cast<uint64_t>(value));
  }
  template <std::floating_point T>
  Hasher& add(T value) {
    return add_word(std::bit_cast<uint64_t>(static_cast<double>(value)));
  }
  template <class T>
  requires std::is_enum_v<T> Hasher& add(T value) { return add_word(static_cast<uint64_t>(value)); }

  // Bytes without a delimiter: any split of one long string gives the same hash.
  Hasher& add_raw(const void* data, size_t size);

  Hash128 digest() const;
  std::string hex() const { return digest().hex(); }

 private:
  Hasher& add_word(uint64_t value);
  void compress(uint64_t word);

  std::array<uint64_t, 4> state_;
  uint64_t pending_ = 0;  // the last size_ % 8 bytes, little endian
  uint64_t size_ = 0;
};

// Returns the hash of one string: Hasher{}.add_raw(text).
Hash128 hash_of(std::string_view text);

}  // namespace tcc

template <>
struct std::hash<tcc::Hash128> {
  size_t operator()(const tcc::Hash128& value) const noexcept { return value.low; }
};
