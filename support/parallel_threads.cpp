#include "support/parallel_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tcc {

void parallel_for_on_threads(int64_t begin, int64_t end, int64_t grain, int threads,
                             const std::function<void(int64_t, int64_t)>& body) {
  if (begin >= end) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = (end - begin - 1) / grain + 1;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;
  const auto work = [&] {
    for (int64_t piece; (piece = next++) < pieces;) try {
        const int64_t from = begin + piece * grain;
        body(from, std::min(end - from, grain) + from);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        next = pieces;  // what has not begun is left out
      }
  };
  std::vector<std::thread> others;
  const auto count = static_cast<size_t>(std::min<int64_t>(threads, pieces));
  others.reserve(count);
  try {
    while (others.size() + 1 < count) others.emplace_back(work);
  } catch (const std::system_error&) {}  // no more threads: those there are do the work
  work();
  for (std::thread& other : others) other.join();
  if (first) std::rethrow_exception(first);
}

int hardware_threads() {
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
}

}  // namespace tcc
