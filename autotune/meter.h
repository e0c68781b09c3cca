// Measures how long at least one of several overlapping activities ran, and the sum of their times.
#pragma once

#include <chrono>
#include <mutex>

namespace tcc::autotune {

// Thread-safe.
class Meter {
 public:
  // A span counts from its construction to its destruction.
  class Span {
   public:
    explicit Span(Meter& meter) : meter_(meter), start_(meter.begin()) {}
    ~Span() { meter_.end(start_); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    double seconds() const { return seconds_between(start_, Clock::now()); }

   private:
    Meter& meter_;
    std::chrono::steady_clock::time_point start_;
  };

  double sum_seconds() const {
    std::lock_guard lock(mutex_);
    return sum_;
  }
  // Returns the seconds during which at least one span was open; spans that have not ended do not
  // count.
  double covered_seconds() const {
    std::lock_guard lock(mutex_);
    return covered_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  Clock::time_point begin() {
    std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (active_++ == 0) since_ = now;
    return now;
  }
  void end(Clock::time_point start) {
    std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    sum_ += seconds_between(start, now);
    if (--active_ == 0) covered_ += seconds_between(since_, now);
  }

  mutable std::mutex mutex_;
  int active_ = 0;
  Clock::time_point since_;
  double sum_ = 0, covered_ = 0;
};

}  // namespace tcc::autotune
