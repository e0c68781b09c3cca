// Errors are mistakes of the user, failures of the machine, and bugs of tcc. The type that users
// catch, and the kinds, are public: tcc/error.hpp.
#pragma once

#include <charconv>
#include <concepts>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "tcc/error.hpp"

namespace tcc {

// A broken invariant of tcc itself.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ErrorKind::internal, message) {}
};

namespace text_parts {

template <class Part>
inline constexpr bool is_text = std::is_convertible_v<const Part&, std::string_view>;
template <class Part>
inline constexpr bool is_char = std::same_as<Part, char>;
template <class Part>
inline constexpr bool is_integer =
    std::same_as<Part, bool> || std::same_as<Part, short> || std::same_as<Part, unsigned short> ||
    std::same_as<Part, int> || std::same_as<Part, unsigned> || std::same_as<Part, long> ||
    std::same_as<Part, unsigned long> || std::same_as<Part, long long> ||
    std::same_as<Part, unsigned long long>;
template <class Part>
inline constexpr bool is_float = std::same_as<Part, float> || std::same_as<Part, double>;
template <class Part>
inline constexpr bool is_plain =
    is_text<Part> || is_char<Part> || is_integer<Part> || is_float<Part>;

// Appends a plain part as a stream prints it by default.
template <class Part>
void append(std::string& out, const Part& part) {
  if constexpr (is_text<Part>) {
    out += std::string_view(part);
  } else if constexpr (is_char<Part>) {
    out += part;
  } else if constexpr (std::same_as<Part, bool>) {
    out += part ? '1' : '0';
  } else {
    char text[32];
    char* end = text;
    if constexpr (is_float<Part>)
      end = std::to_chars(text, text + sizeof text, part, std::chars_format::general, 6).ptr;
    else
      end = std::to_chars(text, text + sizeof text, part).ptr;
    out.append(text, end);
  }
}

}  // namespace text_parts

// Joins its arguments as an ostream prints them: str("got ", 3, " inputs"). Texts and numbers,
// which most parts are, take no stream: one costs more than the text, and the compiler makes
// thousands.
template <class... Parts>
std::string str(const Parts&... parts) {
  if constexpr ((text_parts::is_plain<Parts> && ...)) {
    std::string out;
    (text_parts::append(out, parts), ...);
    return out;
  } else {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }
}

// Throws Error(bad_input): the user's graph, file or option is wrong.
template <class... Parts>
[[noreturn]] void fail_input(const Parts&... parts) {
  throw Error(ErrorKind::bad_input, str(parts...));
}

// Throws Error(device): the device or its toolchain failed.
template <class... Parts>
[[noreturn]] void fail_device(const Parts&... parts) {
  throw Error(ErrorKind::device, str(parts...));
}

#define TCC_CHECK(condition, ...)                                                                \
  do {                                                                                           \
    if (!(condition))                                                                            \
      throw ::tcc::InternalError(                                                                \
          ::tcc::str(__FILE__, ":", __LINE__, ": ", #condition, ". ", ::tcc::str(__VA_ARGS__))); \
  } while (0)

}  // namespace tcc
