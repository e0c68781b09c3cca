// The one exception type of tcc's C++ API.
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace tcc {

// The kinds of errors. Their numbers are the tools' exit codes and the values of the C interface's
// tcc_status.
enum class ErrorKind : int {
  check_failed = 1,  // a result differs from the reference
  bad_input = 2,     // usage, or a file that the user gave
  no_device = 3,     // no such device
  device = 4,        // the device or its toolchain failed: out of memory, lost, compiler error
  cancelled = 5,     // the caller's `cancelled` ended it
  internal = 70,     // a bug in tcc
};

// An error that a caller may expect; `what()` is one line that names file, line and key where they
// are known.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace tcc
#pragma GCC visibility pop
