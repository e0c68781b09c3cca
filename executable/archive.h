// Writing and reading values as bytes, little endian: every type has one `fields` function
// (executable/fields.h), which both go through. What is read is hostile until checked.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/symint.h"
#include "support/error.h"

namespace tcc::exec {

inline constexpr int64_t kMostItems = int64_t{1} << 20;       // of a list
inline constexpr int64_t kMostBytes = int64_t{1} << 28;       // of a text or a kernel's code
inline constexpr int64_t kMostExpression = int64_t{1} << 12;  // characters

class Writer {
 public:
  static constexpr bool reads = false;
  std::vector<uint8_t> take() { return std::move(bytes_); }

  void raw(const void* data, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  void number(int64_t value, int64_t = 0, int64_t = 0) { raw(&value, sizeof value); }
  void number(double value) { raw(&value, sizeof value); }

 private:
  std::vector<uint8_t> bytes_;
};

class Reader {
 public:
  static constexpr bool reads = true;
  // `version` is that of the format in which the bytes were written.
  Reader(std::span<const uint8_t> bytes, std::string where, uint32_t version)
      : bytes_(bytes), where_(std::move(where)), version_(version) {}

  uint32_t version() const { return version_; }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... reason) const {
    fail_input(where_, ": ", reason...);
  }
  void raw(void* to, size_t size) {
    if (size > left()) fail("ends within a value");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  int64_t number(int64_t low, int64_t high) {
    int64_t value = 0;
    raw(&value, sizeof value);
    if (value < low || value > high)
      fail("byte ", at_ - sizeof value, ": ", value, " is outside [", low, ", ", high, "]");
    return value;
  }
  double number() {
    double value = 0;
    raw(&value, sizeof value);
    return value;
  }
  // A count of items, each of at least one byte.
  size_t count(int64_t most) {
    const auto value = static_cast<size_t>(number(0, most));
    if (value > left()) fail("byte ", at_, ": ", value, " items in ", left(), " bytes");
    return value;
  }
  void end() const {
    if (left() > 0) fail(left(), " bytes follow the last value");
  }

 private:
  size_t left() const { return bytes_.size() - at_; }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  std::string where_;
  uint32_t version_;
};

// One overload per kind of value; `value` is const to a Writer.
template <class T>
requires std::integral<T> || std::is_enum_v<T>
void field(Writer& to, const T& value) { to.number(static_cast<int64_t>(value)); }
template <std::integral T>
void field(Reader& from, T& value, int64_t low = std::numeric_limits<T>::min(),
           int64_t high = static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<T>::max(),
                                                                  INT64_MAX))) {
  value = static_cast<T>(from.number(low, high));
}
inline void field(Writer& to, double value) { to.number(value); }
inline void field(Reader& from, double& value) { value = from.number(); }

inline void field(Writer& to, const std::string& value) {
  to.number(std::ssize(value));
  to.raw(value.data(), value.size());
}
inline void field(Reader& from, std::string& value) {
  value.resize(from.count(kMostBytes));
  from.raw(value.data(), value.size());
}
inline void field(Writer& to, std::vector<uint8_t>& value) {
  to.number(std::ssize(value));
  to.raw(value.data(), value.size());
}
inline void field(Reader& from, std::vector<uint8_t>& value) {
  value.resize(from.count(kMostBytes));
  from.raw(value.data(), value.size());
}

// A number, or the text of an expression of symbols.
inline void field(Writer& to, const ir::SymInt& value) {
  field(to, value.is_const());
  if (value.is_const())
    to.number(value.value());
  else
    field(to, value.to_string());
}
inline void field(Reader& from, ir::SymInt& value) {
  if (from.number(0, 1) == 1) {
    value = from.number(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    return;
  }
  std::string text(from.count(kMostExpression), ' ');
  from.raw(text.data(), text.size());
  value = ir::parse_symint(text);
}

template <class A, class T>
void fields(A& archive, T& value);  // executable/fields.h

template <class T>
requires std::is_class_v<T>
void field(Writer& to, const T& value) { fields(to, const_cast<T&>(value)); }
template <class T>
requires std::is_class_v<T>
void field(Reader& from, T& value) { fields(from, value); }

template <class T, size_t N>
void field(Writer& to, std::array<T, N>& values) {
  for (T& value : values) field(to, value);
}
template <class T, size_t N>
void field(Reader& from, std::array<T, N>& values) {
  for (T& value : values) field(from, value);
}
template <class T>
void field(Writer& to, std::vector<T>& values) {
  to.number(std::ssize(values));
  for (T& value : values) field(to, value);
}
template <class T>
void field(Reader& from, std::vector<T>& values) {
  values.clear();
  const size_t count = from.count(kMostItems);
  for (size_t i = 0; i < count; ++i) field(from, values.emplace_back());
}

}  // namespace tcc::exec
