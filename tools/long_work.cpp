#include "tools/long_work.h"

#include <cstdio>
#include <iostream>

namespace tcc::tools {
namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

LongWork::LongWork(std::string what, double quiet_seconds)
    : what_(std::move(what)), quiet_seconds_(quiet_seconds) {}

void LongWork::at(double share) {
  constexpr double kRedraw = 0.2;
  constexpr size_t kBar = 20;
  const Clock::time_point now = Clock::now();
  const bool live = LiveLines::possible();
  if (seconds(now - begin_) < quiet_seconds_) return;
  if (seconds(now - said_) < (live ? kRedraw : quiet_seconds_)) return;
  said_ = now;
  char text[64];
  std::snprintf(text, sizeof text, "%.0f %%, %s", 100 * share,
                format_clock(seconds(now - begin_)).c_str());
  if (live)
    lines_.draw({what_ + " " + progress_bar(share, kBar) + " " + text});
  else
    std::cerr << what_ << ": " << text << "\n";
}

}  // namespace tcc::tools
