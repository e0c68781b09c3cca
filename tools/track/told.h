// Commands of tcc-track print their progress, and can be ended early.
#pragma once

#include <chrono>
#include <string>

#include "tools/progress.h"

namespace tcc::tools {

// While it lives, a first Ctrl-C or SIGTERM requests an end instead of ending the process.
class OnInterrupt {
 public:
  OnInterrupt();
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

  static bool came();

 private:
  void (*interrupt_before_)(int);
  void (*terminate_before_)(int);
};

// It redraws a line on a terminal, and prints a line every ten seconds in a log.
class Told {
 public:
  void tell(const std::string& text);
  void end() { lines_.clear(); }

 private:
  LiveLines lines_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace tcc::tools
