// tcc-worker: measures kernels for a tuner, so that what they do to the device or to the process
// happens here. Started by tcc's autotuner alone; autotune/worker_protocol.h says what is spoken.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "autotune/worker_serve.h"
#include "support/error.h"
#include "support/version.h"

namespace {

// Ends the process when whoever started it is gone, even while a kernel hangs. (PR_SET_PDEATHSIG
// would look at the parent's thread that started us, and threads come and go.)
void end_with_parent(int socket) {
  std::thread([socket] {
    pollfd polled{socket, POLLRDHUP, 0};
    while (::poll(&polled, 1, -1) <= 0 || !(polled.revents & (POLLRDHUP | POLLHUP | POLLERR))) {}
    std::_Exit(EXIT_FAILURE);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("tcc-worker %s\n", tcc::version_text().c_str());
    return 0;
  }
  if (argc != 2) {
    std::fprintf(stderr, "usage: tcc-worker DEVICE, with a socket as standard input and output\n");
    return static_cast<int>(tcc::ErrorKind::bad_input);
  }
  // What drivers print must not come between the frames.
  const int socket = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  // Crashes are expected; dumping gigabytes for each is not wanted.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  end_with_parent(socket);
  try {
    return tcc::autotune::serve_worker(argv[1], STDIN_FILENO, socket);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tcc-worker: %s\n", error.what());
    return static_cast<int>(tcc::ErrorKind::internal);
  }
}
