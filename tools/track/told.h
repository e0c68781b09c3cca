// How commands of tcc-track say how far they are, and how they are ended early.
#pragma once

#include <chrono>
#include <string>

#include "tools/progress.h"

namespace tcc::tools {

// While it lives, a first Ctrl-C or SIGTERM asks for an end in place of making one.
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

// On a terminal a line that is drawn again, in a log a line every ten seconds.
class Told {
 public:
  void tell(const std::string& text);
  void end() { lines_.clear(); }

 private:
  LiveLines lines_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace tcc::tools
