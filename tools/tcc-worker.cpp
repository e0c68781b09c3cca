// tcc-worker: measures kernels for a tuner, so that what they do to the device or to the process
// happens here. Started by tcc's autotuner alone; autotune/worker_protocol.h says what is spoken.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "autotune/worker_serve.h"
#include "support/error.h"
#include "support/version.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("tcc-worker %s\n", tcc::version_text().c_str());
    return 0;
  }
  if (argc != 2) {
    std::fprintf(stderr, "usage: tcc-worker DEVICE, with a socket as standard input and output\n");
    return static_cast<int>(tcc::ErrorKind::bad_input);
  }
  ::setenv("TCC_PIPELINE_CACHE", "0", 0);  // most candidates never run again
  try {
    return tcc::autotune::serve_worker(argv[1], STDIN_FILENO, tcc::autotune::begin_worker());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tcc-worker: %s\n", error.what());
    return static_cast<int>(tcc::ErrorKind::internal);
  }
}
