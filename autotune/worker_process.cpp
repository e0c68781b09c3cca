#include "autotune/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "autotune/worker_protocol.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kKeptErrorBytes = 4096;
constexpr int kSendSeconds = 60;  // a process that reads nothing for so long is stuck

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(int error, const char* call) {
  if (error != 0) fail_device("worker: ", call, ": ", std::strerror(error));
}

struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    check(::posix_spawn_file_actions_init(&files), "posix_spawn_file_actions_init");
    check(::posix_spawnattr_init(&attributes), "posix_spawnattr_init");
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void connect(int from, int to) {
    check(::posix_spawn_file_actions_adddup2(&files, from, to), "posix_spawn_file_actions_adddup2");
  }
  // Ctrl-C in a terminal goes to the whole process group.
  void block_interrupts() {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGINT);
    ::sigaddset(&blocked, SIGTERM);
    check(::posix_spawnattr_setsigmask(&attributes, &blocked), "posix_spawnattr_setsigmask");
    check(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK),
          "posix_spawnattr_setflags");
  }
};

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    check(errno, "socketpair");
  socket_.reset(ends[0]);
  const Descriptor their_socket(ends[1]);
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) check(errno, "pipe2");
  errors_.reset(ends[0]);
  const Descriptor their_errors(ends[1]);
  ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  const timeval patience{.tv_sec = kSendSeconds, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);

  SpawnSettings settings;
  settings.connect(their_socket.get(), STDIN_FILENO);
  settings.connect(their_socket.get(), STDOUT_FILENO);
  settings.connect(their_errors.get(), STDERR_FILENO);
  settings.block_interrupts();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int error =
      ::posix_spawn(&pid_, argv[0], &settings.files, &settings.attributes, argv.data(), environ);
  if (error != 0) fail_device("worker: cannot start ", arguments[0], ": ", std::strerror(error));
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) kill();
}

WorkerProcess::Outcome WorkerProcess::exchange(const nlohmann::json& request, double limit_seconds,
                                               nlohmann::json& reply) {
  const double deadline = steady_seconds() + limit_seconds;
  if (!request.is_null() && !write_frame(socket_.get(), request)) return Outcome::ended;
  while (!take_reply(reply)) {
    if (steady_seconds() >= deadline) return Outcome::timed_out;
    if (!take_input(deadline)) return Outcome::ended;
  }
  return Outcome::replied;
}

bool WorkerProcess::take_reply(nlohmann::json& reply) {
  if (received_.size() < kFrameHeaderBytes) return false;
  const size_t whole = kFrameHeaderBytes + frame_size(received_);
  if (received_.size() < whole) return false;
  reply = decode_frame(std::span(received_).first(whole).subspan(kFrameHeaderBytes));
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(whole));
  return true;
}

bool WorkerProcess::take_input(double deadline) {
  std::array<pollfd, 2> polled = {pollfd{socket_.get(), POLLIN, 0},
                                  pollfd{errors_.get(), POLLIN, 0}};
  constexpr double kMostMilliseconds = 1e9;
  const double milliseconds = (deadline - steady_seconds()) * 1e3 + 1;
  const int ready = ::poll(polled.data(), polled.size(),
                           static_cast<int>(std::clamp(milliseconds, 0.0, kMostMilliseconds)));
  if (ready < 0 && errno != EINTR) check(errno, "poll");
  if (ready <= 0) return true;
  if (polled[1].revents != 0) take_errors();
  if (polled[0].revents == 0) return true;
  std::array<uint8_t, 1 << 16> bytes;
  const ssize_t got = ::read(socket_.get(), bytes.data(), bytes.size());
  if (got > 0) received_.insert(received_.end(), bytes.begin(), bytes.begin() + got);
  return got > 0 || (got < 0 && errno == EINTR);
}

void WorkerProcess::take_errors() {
  std::array<char, kKeptErrorBytes> bytes;
  ssize_t got = 0;
  while ((got = ::read(errors_.get(), bytes.data(), bytes.size())) > 0) {
    error_text_.append(bytes.data(), static_cast<size_t>(got));
    if (error_text_.size() > kKeptErrorBytes)
      error_text_.erase(0, error_text_.size() - kKeptErrorBytes);
  }
  if (got == 0) errors_.close();  // poll would report its end forever
}

void WorkerProcess::kill() {
  if (collected_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {}
  collected_ = true;
  take_errors();
}

int WorkerProcess::exit_code() const {
  return WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : -1;
}

int WorkerProcess::signal() const { return WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0; }

std::string WorkerProcess::ending() const {
  if (signal() == 0) return str("exited with code ", exit_code());
  const char* name = ::sigabbrev_np(signal());
  return name ? str("was killed by SIG", name) : str("was killed by signal ", signal());
}

std::string WorkerProcess::last_words() const {
  const size_t end = error_text_.find_last_not_of(" \n\r");
  if (end == std::string::npos) return "";
  const size_t line = error_text_.rfind('\n', end);
  return error_text_.substr(line + 1, end - line);  // npos + 1 is 0
}

}  // namespace tcc::autotune
