#include "backends/compile/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "support/error.h"

extern char** environ;

namespace tcc::backends {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMaxOutput = 1 << 20;

std::string errno_text(int code) { return std::generic_category().message(code); }

// The file descriptors that the child starts with; released however the start ends.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// A group of its own, so that a time-out also ends the program's children.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

struct Child {
  pid_t process;
  int output;  // the reading end of a pipe
};

Child start(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail_device("cannot make a pipe: ", errno_text(errno));
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), pipe[1], STDERR_FILENO);
  const Attributes attributes;
  Child child{-1, pipe[0]};
  const int code = ::posix_spawnp(&child.process, argv[0], actions.get(), attributes.get(),
                                  argv.data(), environ);
  ::close(pipe[1]);
  if (code == 0) return child;
  ::close(pipe[0]);
  fail_device("cannot run ", arguments[0], ": ", errno_text(code));
}

int remaining_ms(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// Reads until the pipe ends; false when the deadline passed first.
bool read_all(int descriptor, Clock::time_point deadline, std::string& output) {
  char buffer[4096];
  for (;;) {
    pollfd poll_entry{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll_entry, 1, remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(buffer, std::min<size_t>(static_cast<size_t>(count), kMaxOutput - output.size()));
  }
}

// True when the process has ended before the deadline; a program may close its output and go on.
bool wait_until(pid_t process, Clock::time_point deadline, int& status) {
  for (;;) {
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process || (ended < 0 && errno != EINTR)) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          std::chrono::milliseconds timeout) {
  TCC_CHECK(!arguments.empty(), "no program");
  const auto deadline = Clock::now() + timeout;
  const Child child = start(arguments);
  ProcessResult result;
  int status = 0;
  const bool ended = read_all(child.output, deadline, result.output) &&
                     wait_until(child.process, deadline, status);
  ::close(child.output);
  if (!ended) {
    ::kill(-child.process, SIGKILL);
    while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {}
    result.timed_out = true;
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string pattern = (base / "tcc-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    fail_device(base.string(), ": cannot make a temporary folder: ", errno_text(errno));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

}  // namespace tcc::backends
