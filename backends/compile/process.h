// Runs other programs: compilers and validators that the environment names.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tcc::backends {

struct ProcessOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  size_t most_output = 1 << 20;          // of each stream in bytes; the rest is dropped
  bool separate_errors = false;          // standard error goes to ProcessResult::errors
  std::string input = {};                // all of its standard input
  std::filesystem::path folder = {};     // its working folder; "": this process's
  std::function<bool()> cancelled = {};  // asked ten times a second; true kills it
};

struct ProcessResult {
  int exit_code = 0;  // 128 + the signal's number when a signal ended it
  bool timed_out =
      false;           // it was killed, by the time-out or by `cancelled`; exit_code is then 137
  bool cut = false;    // there was more output than the limit
  std::string output;  // standard output, and standard error unless that is separate
  std::string errors;
};

// Runs `arguments` (the first one is the program, looked up in PATH), without a shell. Throws
// Error(device) when the program cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options);
inline ProcessResult run_process(const std::vector<std::string>& arguments,
                                 std::chrono::milliseconds timeout) {
  return run_process(arguments, ProcessOptions{.timeout = timeout});
}

// A folder under the system's temporary folder, for this process alone; it is removed with its
// contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Returns the value of an environment variable; "" when it is not set.
std::string environment(const char* variable);

}  // namespace tcc::backends
