// Runs programs as a user does.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace tcc::testing {

struct Outcome {
  int code = -1;     // the exit status; -1: it was not started, or ended by a signal
  std::string text;  // stdout, and what the command directs there
};

inline Outcome run_command(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof buffer, pipe))
    outcome.text.append(buffer, size);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace tcc::testing
