// Tells the thread sanitizer about tasks of oneTBB: that library is not instrumented, so the
// sanitizer does not see that tasks run after what started them and before what waits for them.
// Without the sanitizer all of this does nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tcc {

// Code before reached() happens before code after a passed() that follows it.
class OrderPoint {
 public:
#if defined(__SANITIZE_THREAD__)
  void reached() { __tsan_release(this); }
  void passed() { __tsan_acquire(this); }
#else
  void reached() {}
  void passed() {}
#endif
};

// Lives from before tasks are started until all of them have ended; each has a Task while it runs.
// All share two points, so that a task passes one before it reads anything, its own captures
// included: coarser than what oneTBB promises, but tasks that run at once stay unordered.
class ForkJoin {
 public:
  ForkJoin() { begun_.reached(); }
  ~ForkJoin() { ended_.passed(); }
  ForkJoin(const ForkJoin&) = delete;
  ForkJoin& operator=(const ForkJoin&) = delete;

  class Task {
   public:
    Task() { begun_.passed(); }
    ~Task() { ended_.reached(); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
  };

 private:
  static inline OrderPoint begun_, ended_;
};

}  // namespace tcc
