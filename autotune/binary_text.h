// Writes and reads numbers and texts as bytes, for the index of tuning files. Bytes that are read
// are not trusted.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "support/error.h"

namespace tcc::autotune {

class ByteWriter {
 public:
  void count(uint64_t value) {  // seven bits a byte, the lowest first
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void integer(int64_t value) {  // small ones of either sign are short
    count((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void number(double value) { word(std::bit_cast<uint64_t>(value)); }
  void word(uint64_t value) { raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  void text(std::string_view text) {
    count(text.size());
    raw(text);
  }
  void raw(std::string_view bytes) { bytes_ += bytes; }
  size_t size() const { return bytes_.size(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws Error(bad_input) where the bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t count() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(raw(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail_input("a number is too long");
  }
  int64_t integer() {
    const uint64_t value = count();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  double number() { return std::bit_cast<double>(word()); }
  uint64_t word() {
    uint64_t value = 0;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return raw(count()); }
  std::string_view raw(uint64_t size) {
    if (size > bytes_.size()) fail_input("the bytes end too early");
    const std::string_view front = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return front;
  }
  // Reads the number of entries that follow: at most `most`, and at most the number of bytes left.
  uint64_t entries(uint64_t most) {
    const uint64_t number = count();
    if (number > most || number > bytes_.size()) fail_input("too many entries");
    return number;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace tcc::autotune
