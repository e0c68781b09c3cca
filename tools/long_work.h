// Shows the progress of one piece of long work: a bar on a terminal, a line now and then in a log.
#pragma once

#include <chrono>
#include <string>

#include "tools/progress.h"

namespace tcc::tools {

class LongWork {
 public:
  // `what` is text like "tcc-run: checking with the reference". Nothing is printed for work that
  // ends within a second on a terminal, or within ten seconds off one.
  explicit LongWork(std::string what, double quiet_seconds = LiveLines::possible() ? 1 : 10);
  // Sets the share of the work that is done. The call is cheap.
  void at(double share);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  double quiet_seconds_;
  Clock::time_point begin_ = Clock::now(), said_ = begin_;
  LiveLines lines_;
};

}  // namespace tcc::tools
