// Shows the progress of one piece of long work: a bar on a terminal, a line now and then in a log.
#pragma once

#include <chrono>
#include <string>

#include "tools/progress.h"

namespace tcc::tools {

class LongWork {
 public:
  // `what` as in "tcc-run: checking with the reference". Nothing is said of what ends soon: within
  // a second on a terminal, ten off one.
  explicit LongWork(std::string what, double quiet_seconds = LiveLines::possible() ? 1 : 10);
  // The share of the work that is done. Cheap.
  void at(double share);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  double quiet_seconds_;
  Clock::time_point begin_ = Clock::now(), said_ = begin_;
  LiveLines lines_;
};

}  // namespace tcc::tools
