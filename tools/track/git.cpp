#include "tools/track/git.h"

#include "backends/compile/process.h"
#include "support/error.h"
#include "tools/track/run_record.h"

namespace tcc::tools {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The committer's date in UTC, whatever time zones git and this machine are set to.
std::string date_of(const Git& git, const std::string& commit) {
  const Git::Result result =
      git.run({"show", "-s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%cd", commit},
              {.environment = {"TZ=UTC"}});
  return result.code == 0 ? first_line(result.output) : "";
}

}  // namespace

Git::Result Git::run(const std::vector<std::string>& arguments, const Options& options) const {
  std::vector<std::string> words = {"env", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"};
  words.insert(words.end(), options.environment.begin(), options.environment.end());
  words.insert(words.end(), {"git", "-C", repository_.string()});
  words.insert(words.end(), arguments.begin(), arguments.end());
  backends::ProcessResult result = backends::run_process(words, {.timeout = std::chrono::minutes(2),
                                                                 .most_output = options.most_output,
                                                                 .separate_errors = true,
                                                                 .input = options.input});
  const auto complain = [&](const char* reason) {
    fail_device("git ", arguments.front(), " in ", repository_.string(), ": ", reason);
  };
  if (result.timed_out) complain("took more than two minutes");
  if (result.cut) complain("printed too much");
  if (result.exit_code == 127) complain("git is not there");
  return {result.exit_code, std::move(result.output), std::move(result.errors)};
}

std::string Git::ask(const std::vector<std::string>& arguments, const Options& options) const {
  Result result = run(arguments, options);
  if (result.code != 0)
    fail_input("git ", arguments.front(), " in ", repository_.string(), ": ",
               first_line(result.errors));
  return without_end(std::move(result.output));
}

GitCommit commit_of(const std::filesystem::path& folder) {
  try {
    const Git git(folder);
    const Git::Result head = git.run({"rev-parse", "--verify", "--quiet", "HEAD"});
    if (head.code != 0) return {};
    GitCommit result{without_end(head.output), ""};
    result.date = date_of(git, result.commit);
    const Git::Result changed =
        git.run({"status", "--porcelain", "--untracked-files=no", "--ignore-submodules"});
    if (changed.code == 0 && !changed.output.empty()) result.commit += kDirty;
    return result;
  } catch (const Error&) { return {}; }  // without git there is no commit to name
}

GitCommit commit_named(const std::filesystem::path& folder, const std::string& revision) {
  try {
    const Git git(folder);
    const Git::Result found =
        git.run({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
    if (found.code != 0) return {revision, ""};
    const std::string commit = without_end(found.output);
    return {commit, date_of(git, commit)};
  } catch (const Error&) { return {revision, ""}; }
}

}  // namespace tcc::tools
