// Errors: what the user did wrong, what the machine could not do, and what is our own bug.
//
// The kinds are the tools' exit codes and the C ABI's status codes; see docs/errors in README.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tcc {

enum class ErrorKind : int {
  check_failed = 1,  // a result differs from the reference
  bad_input = 2,     // usage, or a file that the user gave
  no_device = 3,     // no such device
  device = 4,        // the device or its toolchain failed: out of memory, lost, compiler error
  internal = 70,     // a bug in tcc
};

// An error that a caller may expect; `what()` is one line that names file, line and key where they are known.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

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
      throw ::tcc::InternalError(::tcc::str(__FILE__, ":", __LINE__, ": ", #condition, ". ",     \
                                            ::tcc::str(__VA_ARGS__)));                           \
  } while (0)

}  // namespace tcc
