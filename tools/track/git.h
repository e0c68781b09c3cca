// Runs git by its command.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tcc::tools {

class Git {
 public:
  explicit Git(std::filesystem::path repository) : repository_(std::move(repository)) {}

  struct Result {
    int code = 0;
    std::string output, errors;
  };
  struct Options {
    std::string input = {};                     // standard input
    std::vector<std::string> environment = {};  // "NAME=VALUE"
    size_t most_output = size_t{1} << 24;       // more is an error
  };
  // Any exit code is a result. Throws Error(device) where git cannot be started, runs longer than
  // two minutes or prints too much.
  Result run(const std::vector<std::string>& arguments, const Options& options) const;
  Result run(const std::vector<std::string>& arguments) const { return run(arguments, Options()); }
  // Standard output without the line's end. Throws Error(bad_input) with git's message for an exit
  // code that is not 0.
  std::string ask(const std::vector<std::string>& arguments, const Options& options) const;
  std::string ask(const std::vector<std::string>& arguments) const {
    return ask(arguments, Options());
  }

  const std::filesystem::path& repository() const { return repository_; }

 private:
  std::filesystem::path repository_;
};

// The commit that a work tree stands at. Empty where the folder is in none, or has no commit.
struct GitCommit {
  std::string commit;  // 40 digits, and "-dirty" where tracked files were changed
  std::string date;    // when it was committed, UTC
};
GitCommit commit_of(const std::filesystem::path& folder);
// Does the same for a revision. Where it is unknown, its text is the commit.
GitCommit commit_named(const std::filesystem::path& folder, const std::string& revision);

}  // namespace tcc::tools
