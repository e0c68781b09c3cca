// Errors are mistakes of the user, failures of the machine, and bugs of tcc. The type that users
// catch, and the kinds, are public: tcc/error.hpp.
#pragma once

#include <sstream>
#include <string>

#include "tcc/error.hpp"

namespace tcc {

// A broken invariant of tcc itself.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ErrorKind::internal, message) {}
};

// Joins its arguments as an ostream prints them: str("got ", 3, " inputs").
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
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
