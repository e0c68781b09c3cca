#include "backends/compile/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Closed at the end of its life.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  explicit Descriptor(int given) : number(given) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void close() {
    if (number >= 0) ::close(number);
    number = -1;
  }
};

// A file in memory that holds `text`, read from its beginning.
int file_of(const std::string& text) {
  const int file = ::memfd_create("tcc-input", MFD_CLOEXEC);
  if (file < 0) fail_device("cannot make a file in memory: ", errno_text(errno));
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) {
      ::close(file);
      fail_device("cannot write a file in memory: ", errno_text(errno));
    }
    at += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

class Child {
 public:
  Child(const std::vector<std::string>& arguments, const ProcessOptions& options)
      : options_(options), deadline_(Clock::now() + options.timeout) {
    start(arguments);
  }

  ProcessResult result() {
    ProcessResult result;
    int status = 0;
    if (!(read_all(result) && wait(status))) {
      ::kill(-process_, SIGKILL);
      while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
      result.timed_out = true;
    }
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }

 private:
  void start(const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    Descriptor input, output, errors;
    make_pipe(output_, output);
    if (options_.separate_errors) make_pipe(errors_, errors);
    FileActions actions;
    if (options_.input.empty()) {
      posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    } else {
      input.number = file_of(options_.input);
      posix_spawn_file_actions_adddup2(actions.get(), input.number, STDIN_FILENO);
    }
    posix_spawn_file_actions_adddup2(actions.get(), output.number, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(
        actions.get(), options_.separate_errors ? errors.number : output.number, STDERR_FILENO);
    if (!options_.folder.empty())
      posix_spawn_file_actions_addchdir_np(actions.get(), options_.folder.c_str());
    const Attributes attributes;
    const int code =
        ::posix_spawnp(&process_, argv[0], actions.get(), attributes.get(), argv.data(), environ);
    if (code != 0) fail_device("cannot run ", arguments[0], ": ", errno_text(code));
  }

  static void make_pipe(Descriptor& from, Descriptor& to) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) fail_device("cannot make a pipe: ", errno_text(errno));
    from.number = pipe[0];
    to.number = pipe[1];
  }

  bool ended() const {
    return Clock::now() >= deadline_ || (options_.cancelled && options_.cancelled());
  }

  // Milliseconds until the next look at `cancelled` or the deadline.
  int pause() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, options_.cancelled ? 100 : 1 << 30));
  }

  // Reads until the pipes end; false when it took too long.
  bool read_all(ProcessResult& result) {
    while (output_.number >= 0 || errors_.number >= 0) {
      std::array<pollfd, 2> polled{pollfd{output_.number, POLLIN, 0},
                                   pollfd{errors_.number, POLLIN, 0}};
      const int ready = ::poll(polled.data(), polled.size(), pause());
      if (ended()) return false;  // however much it prints
      if (ready <= 0) continue;
      if (polled[0].revents) read_some(output_, result.output, result.cut);
      if (polled[1].revents) read_some(errors_, result.errors, result.cut);
    }
    return true;
  }

  void read_some(Descriptor& from, std::string& to, bool& cut) const {
    char buffer[1 << 16];
    const ssize_t count = ::read(from.number, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return from.close();
    const size_t kept = std::min(static_cast<size_t>(count), options_.most_output - to.size());
    cut |= kept < static_cast<size_t>(count);
    to.append(buffer, kept);
  }

  // True when the process has ended in time; a program may close its output and go on.
  bool wait(int& status) const {
    for (;;) {
      const pid_t got = ::waitpid(process_, &status, WNOHANG);
      if (got == process_ || (got < 0 && errno != EINTR)) return true;
      if (ended()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const ProcessOptions& options_;
  Clock::time_point deadline_;
  pid_t process_ = -1;
  Descriptor output_, errors_;  // reading ends of pipes
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const ProcessOptions& options) {
  TCC_CHECK(!arguments.empty(), "no program");
  return Child(arguments, options).result();
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
