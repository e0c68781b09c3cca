// Runs another program: compilers and validators named by the environment.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tcc::backends {

struct ProcessResult {
  int exit_code = 0;       // 128 + the signal's number when a signal ended it
  bool timed_out = false;  // it was killed; exit_code is then 137
  std::string output;      // standard output and standard error together, the first 1 MiB
};

// Runs `arguments` (the first one is the program, looked up in PATH), without a shell, its standard
// input empty. Throws Error(device) when the program cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          std::chrono::milliseconds timeout);

// A folder under the system's temporary folder, for this process alone; removed with what is in it.
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

// The value of an environment variable; "" when it is not set.
std::string environment(const char* variable);

}  // namespace tcc::backends
